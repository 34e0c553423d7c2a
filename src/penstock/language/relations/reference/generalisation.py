"""Computes a least general pattern that contains two queries, for aggregation.

Both queries are converted to patterns, and each node of one is paired with each node of the other.
A pair yields a node with the common names, the values both allow, and below it the pairs of their
children and descendants. Redundant pairs are dropped. The result has no union, ``or``, ``not`` or
position, and is verified to contain both queries. At a limit, parts are omitted, which only makes
the result more general.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce

from penstock.language.limits import MAX_GENERALISED_NODES
from penstock.language.relations.path_universe import PathUniverse
from penstock.language.relations.reference.containment import contains_in
from penstock.language.relations.reference.document_domain import DocumentDomain, Place, domain_of
from penstock.language.relations.reference.name_tests import ANY, exact, includes, join
from penstock.language.relations.reference.pattern_paths import to_path, to_query
from penstock.language.relations.reference.prover import GAVE_UP, Prover
from penstock.language.relations.reference.satisfiability import possible_patterns
from penstock.language.relations.reference.schema_specialisation import concrete
from penstock.language.relations.reference.tree_patterns import Facts, Node
from penstock.language.relations.reference.value_generalisation import common
from penstock.language.xpath.ast import Axis, Kind, Path, Query, Step
from penstock.language.xpath.value_tests import implies

ANYTHING = Query((Path((Step(Axis.CHILD, Kind.ELEMENT, ANY),)),))
"""``/*``, which contains every query."""


def generalise(p: Query, q: Query, schema: PathUniverse | None = None) -> Query:
    """A specific path without ``or``, ``not`` or position that contains both queries."""
    domain = domain_of(schema)
    with suppress(*GAVE_UP):
        for candidate in _candidates(domain, p, q):
            if contains_in(domain, candidate, p) and contains_in(domain, candidate, q):
                return candidate
    return ANYTHING


def _candidates(domain: DocumentDomain, p: Query, q: Query) -> Iterator[Query]:
    """The most specific candidate, then the same without predicates."""
    documents = [
        _rooted(document)
        for query in (p, q)
        for branch in query.branches
        for document in possible_patterns(branch, domain)
    ]
    if documents:
        for patterns in (documents, list(map(_spine_only, documents))):
            with suppress(*GAVE_UP):
                yield to_query(_general(domain, patterns))


def _general(domain: DocumentDomain, documents: list[Node]) -> Node:
    prover = Prover(domain)
    known = [concrete(document, None, prover) for document in documents]
    return _trimmed(reduce(_Pairs(prover).documents, known), None, Prover(domain_of(None)))


def _rooted(document: Node) -> Node:
    """The pattern with an explicit element above attributes and text below ``//``, as in
    ``//@a``."""
    (child,) = document.facts.children
    if child.kind is Kind.ELEMENT:
        return document
    leaf = replace(child, axis=Axis.CHILD)
    some = Node(Axis.DESCENDANT, Kind.ELEMENT, ANY, Facts(children=(leaf,)), spine=True)
    return replace(document, facts=Facts(children=(some,)))


def _spine_only(node: Node) -> Node:
    spine = tuple(_spine_only(child) for child in node.facts.children if child.spine)
    return replace(node, facts=Facts(children=spine))


def _trimmed(node: Node, place: Place, prover: Prover) -> Node:
    """The pattern without children implied by others."""
    children = list(node.facts.children)
    for child in node.facts.children:
        others = replace(node, facts=Facts(children=tuple(c for c in children if c is not child)))
        if not child.spine and prover.missed(others, place, (to_path(child),)) is None:
            children.remove(child)
    kept = tuple(_trimmed(child, child.test, prover) for child in children)
    return replace(node, facts=replace(node.facts, children=kept))


class _Pairs:
    """Pairs of nodes with their generalisations."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.made: dict[tuple[Node, Node], Node] = {}
        self.far: dict[tuple[Node, Node], Node] = {}
        self.fitting: dict[tuple[Node, Node], bool] = {}

    def documents(self, one: Node, two: Node) -> Node:
        """The document node of the generalised pattern; a path continues to one child only."""
        children = self._children(one, two)
        best = max(children, key=lambda child: (child.spine, _names(child)))
        return replace(one, facts=Facts(children=(_as_spine(best),)))

    def pair(self, one: Node, two: Node) -> Node:
        """Generalises two nodes, apart from their axes."""
        made = self.made.get((one, two))
        if made is None:
            self.prover.spend()
            facts = Facts(
                common(one.facts.values, two.facts.values),
                tuple(_one_spine(_within_limit(self._children(one, two)))),
            )
            made = Node(
                Axis.CHILD,
                one.kind,
                join(one.test, two.test),
                facts,
                spine=one.spine and two.spine,
            )
            self.made[one, two] = made
        return made

    def _children(self, one: Node, two: Node) -> tuple[Node, ...]:
        kept: list[Node] = []
        for candidate in self._reached(one, two):
            if not any(self._replaces(other, candidate) for other in kept):
                kept = [other for other in kept if not self._replaces(candidate, other)]
                kept.append(candidate)
        return tuple(kept)

    def _reached(self, one: Node, two: Node) -> Iterator[Node]:
        """Below a pair: pairs of children as children, all others as descendants."""
        below = list(_descendants(two))
        for child in _descendants(one):
            for other in below:
                if child.kind is not other.kind:
                    continue
                near = (
                    child.axis is other.axis is Axis.CHILD
                    and child in one.facts.children
                    and other in two.facts.children
                )
                yield self.pair(child, other) if near else self._far_pair(child, other)

    def _far_pair(self, one: Node, two: Node) -> Node:
        far = self.far.get((one, two))
        if far is None:
            far = self.far[one, two] = replace(self.pair(one, two), axis=Axis.DESCENDANT)
        return far

    def _replaces(self, strong: Node, weak: Node) -> bool:
        """Whether one child makes another redundant; a selected one is never redundant."""
        return (strong.spine or not weak.spine) and self._implies(strong, weak)

    def _implies(self, strong: Node, weak: Node) -> bool:
        """Whether the strong child implies the weak one."""
        if weak.axis is Axis.CHILD:
            return strong.axis is Axis.CHILD and self._fits(strong, weak)
        return any(self._fits(node, weak) for node in (strong, *_descendants(strong)))

    def _fits(self, strong: Node, weak: Node) -> bool:
        """Whether the strong node satisfies the weak one."""
        known = self.fitting.get((strong, weak))
        if known is None:
            self.prover.spend()
            known = self.fitting[strong, weak] = (
                weak.kind is strong.kind
                and includes(weak.test, strong.test)
                and all(implies(strong.facts.values, test) for test in weak.facts.values)
                and all(
                    any(self._implies(below, child) for below in strong.facts.children)
                    for child in weak.facts.children
                )
            )
        return known


def _descendants(node: Node) -> Iterator[Node]:
    for child in node.facts.children:
        yield child
        yield from _descendants(child)


def _names(node: Node) -> int:
    return sum(exact(each.test) for each in (node, *_descendants(node)))


def _size(node: Node) -> int:
    return 1 + sum(map(_size, node.facts.children))


def _within_limit(children: Iterable[Node]) -> list[Node]:
    """The most specific children within the size limit."""
    left = MAX_GENERALISED_NODES
    kept = []
    for child in sorted(children, key=lambda child: (not child.spine, -_names(child))):
        if _size(child) <= left:
            left -= _size(child)
            kept.append(child)
    return kept


def _depth(node: Node) -> int:
    """Length of the spine below a node."""
    return max((1 + _depth(child) for child in node.facts.children if child.spine), default=0)


def _one_spine(children: list[Node]) -> list[Node]:
    """Keeps one child on the spine: the most specific one."""
    spine = [child for child in children if child.spine]
    if len(spine) < 2:
        return children
    best = max(spine, key=lambda child: (_names(child), _depth(child)))
    return [child if child is best else _beside(child) for child in children]


def _beside(node: Node) -> Node:
    """The node as a condition only."""
    children = tuple(_beside(child) for child in node.facts.children)
    return replace(node, spine=False, facts=replace(node.facts, children=children))


def _as_spine(node: Node) -> Node:
    return replace(node, spine=True)
