"""Specialises a pattern with a schema: unique names for ``*`` and unique steps for ``//``."""

from __future__ import annotations

from dataclasses import replace

from penstock.language.relations.reference.document_domain import Place
from penstock.language.relations.reference.prover import Prover
from penstock.language.relations.reference.tree_patterns import Facts, Node
from penstock.language.xpath.ast import Axis, Kind, NameTest


def concrete(node: Node, place: Place, prover: Prover) -> Node:
    """An equivalent pattern on valid documents, specialised where the schema allows one choice."""
    if prover.domain.schema is None:
        return node
    children = tuple(_concrete_child(child, place, prover) for child in node.facts.children)
    return replace(node, facts=replace(node.facts, children=children))


def _concrete_child(child: Node, parent: Place, prover: Prover) -> Node:
    way = _only_way(child, parent, prover)
    if way is None:
        return child
    *between, last = way
    node = concrete(replace(child, axis=Axis.CHILD, test=last), last, prover)
    for name in reversed(between):
        node = Node(Axis.CHILD, Kind.ELEMENT, name, Facts(children=(node,)), spine=child.spine)
    return node


def _only_way(child: Node, parent: Place, prover: Prover) -> list[NameTest] | None:
    """The names between a parent and a child, if the schema allows only one path."""
    ways = [[name] for name in _fitting(child, parent, prover)]
    if child.axis is Axis.DESCENDANT:
        ways += _ways_below(child, parent, prover, frozenset())
    return ways[0] if len(ways) == 1 else None


def _ways_below(
    child: Node, parent: Place, prover: Prover, passed: frozenset[Place]
) -> list[list[NameTest]]:
    """Paths through at least one intermediate element; stops after two."""
    ways: list[list[NameTest]] = []
    further = replace(child, axis=Axis.DESCENDANT)
    for name in prover.domain.steps(parent, Kind.ELEMENT, NameTest()):
        prover.spend()
        if prover.child_impossible(further, name):
            continue
        if name in passed:  # a cycle: infinitely many paths
            return ways * 2 or [[name], [name]]
        below = [[each] for each in _fitting(child, name, prover)]
        below += _ways_below(child, name, prover, passed | {name})
        ways += [[name, *way] for way in below]
        if len(ways) > 1:
            return ways
    return ways


def _fitting(child: Node, parent: Place, prover: Prover) -> list[NameTest]:
    return [
        name
        for name in prover.domain.steps(parent, child.kind, child.test)
        if not prover.impossible(child, name, parent)
    ]
