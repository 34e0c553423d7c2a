"""Decides whether a node selected by one query can be at or under a node selected by the other.

Both paths lead through the ancestors of the lower selected node. The search therefore walks down
one chain of elements with both queries simultaneously; a node on both paths must satisfy the
predicates of both. If no walk completes both paths, the queries are disjoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import product
from typing import TypeAlias

from penstock.language.relations.reference.chain_search import Chain, Word
from penstock.language.relations.reference.document_domain import DocumentDomain, Place
from penstock.language.relations.reference.name_tests import ANY, meet
from penstock.language.relations.reference.prover import GAVE_UP, Prover
from penstock.language.relations.reference.satisfiability import possible_patterns
from penstock.language.relations.reference.tree_patterns import Node, merge
from penstock.language.xpath.ast import Axis, Kind, NameTest, Query

_At: TypeAlias = tuple[int, int, Place]
"""Number of visited nodes of each spine, and the current place."""

_SOMEWHERE = Node(Axis.CHILD, Kind.ELEMENT, ANY)
"""An unconstrained element, between two spine nodes or under a selected node."""


def overlaps_in(domain: DocumentDomain, p: Query, q: Query) -> bool:
    """Whether the two cannot be proved disjoint."""
    return meeting(domain, p, q) is not None


def meeting(domain: DocumentDomain, p: Query, q: Query) -> Word | None:
    """The path to the lower of two overlapping nodes; ``None`` if the queries are provably
    disjoint.

    With predicates, or after an aborted proof, the path may be infeasible.
    """
    wider = domain.wider()
    if wider is not None and not overlaps_in(wider, p, q):
        return None
    prover = Prover(domain)
    try:
        for one, two in product(_documents(domain, p), _documents(domain, q)):
            word = _SimultaneousWalk(prover, one.spine_nodes(), two.spine_nodes()).meeting()
            if word is not None:
                return word
    except GAVE_UP:
        return ()
    return None


def _documents(domain: DocumentDomain, query: Query) -> list[Node]:
    return [document for branch in query.branches for document in possible_patterns(branch, domain)]


class _SimultaneousWalk:
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
        domain = self.prover.domain
        both_ends = (len(self.one), len(self.two))
        for one, after_i in _choices(self.one, i):
            for two, after_j in _choices(self.two, j):
                node = self._both(one, two)
                if node is None:
                    continue
                if node.kind is not Kind.ELEMENT and (after_i, after_j) != both_ends:
                    continue
                # Each query alone is satisfiable; together, or with a schema, they may not be.
                sure = domain.schema is None and (node is one or node is two or node.bare())
                for place in domain.steps(parent, node.kind, node.test):
                    if sure or not self.prover.impossible(node, place, parent):
                        yield node.kind, (after_i, after_j, place)

    def _both(self, one: Node, two: Node) -> Node | None:
        """The node that satisfies both; ``None`` if the names are incompatible."""
        if one is _SOMEWHERE:
            return two
        if two is _SOMEWHERE:
            return one
        test = _meet(one, two)
        if test is None:
            return None
        if self.prover.domain.schema is None and one.bare() and two.bare():
            return Node(one.axis, one.kind, test)
        node = self.merged.get((one, two))
        if node is None:
            node = self.merged[one, two] = merge(one, two, test, self.prover.domain)
        return node


def _meet(one: Node, two: Node) -> NameTest | None:
    return meet(one.test, two.test) if one.kind is two.kind else None


def _choices(chain: Chain, index: int) -> Iterator[tuple[Node, int]]:
    """The roles of the next node for one query."""
    if index == len(chain):
        yield _SOMEWHERE, index
        return
    yield chain[index], index + 1
    if chain[index].axis is Axis.DESCENDANT:
        yield _SOMEWHERE, index
