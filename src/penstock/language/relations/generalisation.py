"""The least general pattern that contains two queries, for aggregation.

Both queries become patterns, and each node of one is paired with each node of the other. A pair
gives a node that says what both say: the names they share, the values both allow, and below it the
pairs of their children and of their descendants. What another pair already implies is dropped. The
result has no union, ``or``, ``not`` or position, and it is checked to contain both before it is
returned; where a limit is met, parts are left out, which only makes it more general.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import reduce

from penstock.language.limits import MAX_GENERALISED_NODES
from penstock.language.relations.common_values import common
from penstock.language.relations.concrete import concrete
from penstock.language.relations.containment import contains_in
from penstock.language.relations.name_tests import ANY, exact, includes, join
from penstock.language.relations.pattern_paths import to_path, to_query
from penstock.language.relations.patterns import Facts, Node
from penstock.language.relations.proof import GAVE_UP, Prover
from penstock.language.relations.satisfiability import possible_patterns
from penstock.language.relations.universe import PathUniverse
from penstock.language.relations.world import Place, World, world
from penstock.language.xpath.ast import Axis, Kind, Path, Query, Step
from penstock.language.xpath.value_tests import implies

ANYTHING = Query((Path((Step(Axis.CHILD, Kind.ELEMENT, ANY),)),))
"""``/*``, which contains every query."""


def generalise(p: Query, q: Query, schema: PathUniverse | None = None) -> Query:
    """A single path without ``or``, ``not`` or position that contains both, as narrow as it gets.

    Where a narrowest one exists among linear paths, and both queries are linear, none is narrower
    than the result.

    Examples
    --------
    >>> from penstock.language import parse, to_text
    >>> def both(p, q):
    ...     return str(to_text(generalise(parse(p), parse(q))))
    >>> both("/news/item/title", "/news/flash/title")
    '/news/*/title'
    >>> both("/news/item[@n = 3]", "/news/item[@n = 7]/title")
    '/news/item[@n >= 3][@n <= 7]'
    >>> both("/a/b/c", "/a//c/d")
    '/a[.//*/*]//c'
    """
    here = world(schema)
    with suppress(*GAVE_UP):
        for candidate in _candidates(here, p, q):
            if contains_in(here, candidate, p) and contains_in(here, candidate, q):
                return candidate
    return ANYTHING


def _candidates(here: World, p: Query, q: Query) -> Iterator[Query]:
    """The narrowest that was found, then what is left of it without predicates."""
    documents = [
        _rooted(document)
        for query in (p, q)
        for branch in query.branches
        for document in possible_patterns(branch, here)
    ]
    if documents:
        for patterns in (documents, list(map(_spine_only, documents))):
            with suppress(*GAVE_UP):
                yield to_query(_general(here, patterns))


def _general(here: World, documents: list[Node]) -> Node:
    prover = Prover(here)
    known = [concrete(document, None, prover) for document in documents]
    return _trimmed(reduce(_Pairs(prover).documents, known), None, Prover(world(None)))


def _rooted(document: Node) -> Node:
    """The pattern with an element of its own for what hangs from some element: ``//@a``."""
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
    """The pattern without children that the others prove."""
    children = list(node.facts.children)
    for child in node.facts.children:
        others = replace(node, facts=Facts(children=tuple(c for c in children if c is not child)))
        if not child.spine and prover.missed(others, place, (to_path(child),)) is None:
            children.remove(child)
    kept = tuple(_trimmed(child, child.test, prover) for child in children)
    return replace(node, facts=replace(node.facts, children=kept))


class _Pairs:
    """Pairs of nodes, and the node that says what both say."""

    def __init__(self, prover: Prover) -> None:
        self.prover = prover
        self.made: dict[tuple[Node, Node], Node] = {}
        self.far: dict[tuple[Node, Node], Node] = {}
        self.fitting: dict[tuple[Node, Node], bool] = {}

    def documents(self, one: Node, two: Node) -> Node:
        """The document node of the general pattern; a path can only go on to one child of it."""
        children = self._children(one, two)
        best = max(children, key=lambda child: (child.spine, _names(child)))
        return replace(one, facts=Facts(children=(_as_spine(best),)))

    def pair(self, one: Node, two: Node) -> Node:
        """What both nodes are, apart from how they are reached."""
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
        """Below a pair: children of both as children, all else as descendants."""
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
        """Whether one child makes another superfluous; one that is selected stays."""
        return (strong.spine or not weak.spine) and self._implies(strong, weak)

    def _implies(self, strong: Node, weak: Node) -> bool:
        """Whether wherever there is the strong child there is the weak one."""
        if weak.axis is Axis.CHILD:
            return strong.axis is Axis.CHILD and self._fits(strong, weak)
        return any(self._fits(node, weak) for node in (strong, *_descendants(strong)))

    def _fits(self, strong: Node, weak: Node) -> bool:
        """Whether the strong node is one such as the weak one asks for."""
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
    """The children that say most, within the limit on the size of the result."""
    left = MAX_GENERALISED_NODES
    kept = []
    for child in sorted(children, key=lambda child: (not child.spine, -_names(child))):
        if _size(child) <= left:
            left -= _size(child)
            kept.append(child)
    return kept


def _depth(node: Node) -> int:
    """How far the spine goes on below a node."""
    return max((1 + _depth(child) for child in node.facts.children if child.spine), default=0)


def _one_spine(children: list[Node]) -> list[Node]:
    """Only one child is on the way to what is selected: the one that says most of it."""
    spine = [child for child in children if child.spine]
    if len(spine) < 2:
        return children
    best = max(spine, key=lambda child: (_names(child), _depth(child)))
    return [child if child is best else _beside(child) for child in children]


def _beside(node: Node) -> Node:
    """The node, now only a condition."""
    children = tuple(_beside(child) for child in node.facts.children)
    return replace(node, spine=False, facts=replace(node.facts, children=children))


def _as_spine(node: Node) -> Node:
    return replace(node, spine=True)
