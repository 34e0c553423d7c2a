"""A pattern with what a schema adds: names for ``*`` and steps for ``//`` where only one fits."""

from __future__ import annotations

from dataclasses import replace

from penstock.language.relations.patterns import Facts, Node
from penstock.language.relations.proof import Prover
from penstock.language.relations.world import Place
from penstock.language.xpath.ast import Axis, Kind, NameTest


def concrete(node: Node, place: Place, prover: Prover) -> Node:
    """The same pattern for valid documents, as far as the schema leaves no choice."""
    if prover.world.schema is None:
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
    """The names from a parent down to a child, where the schema knows only one way."""
    ways = [[name] for name in _fitting(child, parent, prover)]
    if child.axis is Axis.DESCENDANT:
        ways += _ways_below(child, parent, prover, frozenset())
    return ways[0] if len(ways) == 1 else None


def _ways_below(
    child: Node, parent: Place, prover: Prover, passed: frozenset[Place]
) -> list[list[NameTest]]:
    """Ways through at least one element between; two stand for any number of them."""
    ways: list[list[NameTest]] = []
    further = replace(child, axis=Axis.DESCENDANT)
    for name in prover.world.steps(parent, Kind.ELEMENT, NameTest()):
        prover.spend()
        if prover.child_impossible(further, name):
            continue
        if name in passed:  # round and round: no end of ways
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
        for name in prover.world.steps(parent, child.kind, child.test)
        if not prover.impossible(child, name, parent)
    ]
