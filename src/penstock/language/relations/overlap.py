"""Whether two queries can meet: one selects a node at or under a node the other selects.

Both ways down lead through the nodes above the lower of the two selected nodes. So the search walks
down one chain of elements with both queries at once; a node that both paths pass must meet the
predicates of both. Where no walk reaches both ends, no document has such nodes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

from penstock.language.relations.chains import Chain, Word
from penstock.language.relations.name_tests import ANY, meet
from penstock.language.relations.patterns import Node, merge
from penstock.language.relations.proof import GAVE_UP, Prover
from penstock.language.relations.satisfiability import possible_patterns
from penstock.language.relations.world import Place, World
from penstock.language.xpath.ast import Axis, Kind, NameTest, Query

_At: TypeAlias = tuple[int, int, Place]
"""How many nodes of each spine are passed, and where that is."""

_SOMEWHERE = Node(Axis.CHILD, Kind.ELEMENT, ANY)
"""An element of which nothing is known: between two nodes of a spine, or under a selected one."""


def overlaps_in(world: World, p: Query, q: Query) -> bool:
    """Whether the two cannot be proved never to meet."""
    return meeting(world, p, q) is not None


def meeting(world: World, p: Query, q: Query) -> Word | None:
    """The way down to the lower of two nodes that meet, ``None`` where there provably are none.

    With predicates about, or where the proof was given up, the way need not be one.
    """
    wider = world.wider()
    if wider is not None and not overlaps_in(wider, p, q):
        return None
    prover = Prover(world)
    try:
        for one, two in product(_documents(world, p), _documents(world, q)):
            word = _Walk(prover, one.spine_nodes(), two.spine_nodes()).meeting()
            if word is not None:
                return word
    except GAVE_UP:
        return ()
    return None


def _documents(world: World, query: Query) -> list[Node]:
    return [document for branch in query.branches for document in possible_patterns(branch, world)]


class _Walk:
    def __init__(self, prover: Prover, one: Chain, two: Chain) -> None:
        self.prover = prover
        self.one = one
        self.two = two
        self.merged: dict[tuple[Node, Node], Node] = {}

    def meeting(self) -> Word | None:
        first: _At = (0, 0, None)
        seen = {first}
        waiting: deque[tuple[_At, Word]] = deque([(first, ())])
        while waiting:
            at, word = waiting.popleft()
            self.prover.spend()
            if at[0] == len(self.one) and at[1] == len(self.two):
                return word
            for kind, after in self._moves(at):
                if after not in seen:
                    seen.add(after)
                    assert after[2] is not None
                    waiting.append((after, (*word, (kind, after[2]))))
        return None

    def _moves(self, at: _At) -> Iterator[tuple[Kind, _At]]:
        i, j, parent = at
        world = self.prover.world
        both_ends = (len(self.one), len(self.two))
        for one, after_i in _choices(self.one, i):
            for two, after_j in _choices(self.two, j):
                node = self._both(one, two)
                if node is None:
                    continue
                if node.kind is not Kind.ELEMENT and (after_i, after_j) != both_ends:
                    continue
                # Each query alone is possible. Only together, or with a schema, may they not be.
                sure = world.schema is None and (node is one or node is two or node.bare())
                for place in world.steps(parent, node.kind, node.test):
                    if sure or not self.prover.impossible(node, place, parent):
                        yield node.kind, (after_i, after_j, place)

    def _both(self, one: Node, two: Node) -> Node | None:
        """The node that both take for theirs, ``None`` where the names exclude each other."""
        if one is _SOMEWHERE:
            return two
        if two is _SOMEWHERE:
            return one
        test = _meet(one, two)
        if test is None:
            return None
        if self.prover.world.schema is None and one.bare() and two.bare():
            return Node(one.axis, one.kind, test)
        node = self.merged.get((one, two))
        if node is None:
            node = self.merged[one, two] = merge(one, two, test, self.prover.world)
        return node


def _meet(one: Node, two: Node) -> NameTest | None:
    return meet(one.test, two.test) if one.kind is two.kind else None


def _choices(chain: Chain, index: int) -> Iterator[tuple[Node, int]]:
    """What the next node down may be to one query."""
    if index == len(chain):
        yield _SOMEWHERE, index
        return
    yield chain[index], index + 1
    if chain[index].axis is Axis.DESCENDANT:
        yield _SOMEWHERE, index
