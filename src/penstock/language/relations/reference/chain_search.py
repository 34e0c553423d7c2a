"""Searches a chain of pattern nodes for a counterexample to goals, for all lengths of its ``//``.

An *escape* is an assignment of names and gap lengths, allowed by the pattern and the schema, that
satisfies no goal. The search visits each (position on the chain, name, goal state) once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from enum import Enum
from functools import partial
from typing import Protocol, TypeAlias

from penstock.language.relations.reference.document_domain import DocumentDomain, Place
from penstock.language.relations.reference.goal_automaton import Goals
from penstock.language.relations.reference.name_tests import ANY
from penstock.language.relations.reference.schema_obligations import Unavoidable
from penstock.language.relations.reference.tree_patterns import Facts, Node
from penstock.language.xpath.ast import Axis, Kind, NameTest, Step

Chain: TypeAlias = tuple[Node, ...]
"""Nodes of a pattern, each below its predecessor."""

Word: TypeAlias = tuple[tuple[Kind, NameTest], ...]
"""The kinds and names on the path to a node."""


class Judge(Protocol):
    """Proves properties of the nodes of a chain."""

    domain: DocumentDomain

    def spend(self) -> None:
        """Count a step."""

    def step_holds(self, node: Node, place: Place, step: Step) -> bool:
        """Whether all predicates of a step are proved of a node."""

    def impossible(self, node: Node, place: Place, parent: Place) -> bool:
        """Whether provably no node has these facts."""


class _Next(Enum):
    """The position of the next chain node relative to the current one."""

    BELOW = 0
    """Directly below: a child, an attribute, a text."""
    FURTHER = 1
    """At least one element in between."""


_At: TypeAlias = tuple[int, _Next, Place, int]
"""Number of visited chain nodes, position of the next, current name, goal state."""


def escape(
    chain: Chain, start: Place, goals: Goals, judge: Judge, certain: Unavoidable | None
) -> Word | None:
    """A shortest path down the chain that satisfies no goal, or ``None``.

    With ``certain``, content that the schema requires next to the chain can satisfy goals, too.
    """
    if goals.start & goals.done:
        return None
    search = _Search(chain, goals, judge, certain)
    came_from: dict[_At, tuple[_At, Kind, NameTest] | None] = {
        (0, following, start, goals.start): None for following in search.following(0)
    }
    waiting = deque(came_from)
    while waiting:
        at = waiting.popleft()
        judge.spend()
        if search.unavoidable(at):
            continue
        if at[0] == len(chain):
            return _word(came_from, at)
        for kind, name, after in search.moves(at):
            if after not in came_from:
                came_from[after] = (at, kind, name)
                waiting.append(after)
    return None


class _Search:
    def __init__(
        self, chain: Chain, goals: Goals, judge: Judge, certain: Unavoidable | None
    ) -> None:
        self.chain = chain
        self.goals = goals
        self.judge = judge
        self.certain = certain
        self.known: dict[tuple[int, _Next, bool], Node] = {}

    def following(self, index: int) -> tuple[_Next, ...]:
        """Possible positions of the next node after ``index`` nodes."""
        if index < len(self.chain) and self.chain[index].axis is Axis.DESCENDANT:
            return (_Next.BELOW, _Next.FURTHER)
        return (_Next.BELOW,)

    def unavoidable(self, at: _At) -> bool:
        """Whether the schema guarantees that a goal is satisfied from here."""
        index, _, place, state = at
        if self.certain is None or place is None:
            return False
        if index and self.chain[index - 1].kind is not Kind.ELEMENT:
            return False
        return not self.certain.avoided(place, state & self.goals.bare)

    def moves(self, at: _At) -> Iterator[tuple[Kind, NameTest, _At]]:
        """Moves one node down that satisfy no goal."""
        index, where, place, state = at
        between = where is _Next.FURTHER
        after = index if between else index + 1
        domain = self.judge.domain
        for following in self.following(after):
            node = self._node(after, following, between)
            for name in domain.steps(place, node.kind, node.test):
                if domain.schema is not None and self._excluded(at, node, name):
                    continue
                holds = partial(self.judge.step_holds, node, name)
                met = self.goals.advance(state, node.kind, name, holds)
                if not met & self.goals.done:
                    yield node.kind, name, (after, following, name, met)

    def _excluded(self, at: _At, node: Node, name: NameTest) -> bool:
        """Whether every valid document on this path satisfies a goal next to it."""
        _, _, place, state = at
        if self.judge.impossible(node, name, place):
            return True
        if self.certain is None or place is None or node.kind is not Kind.ELEMENT:
            return False
        return self.certain.excludes(place, state & self.goals.bare, name)

    def _node(self, index: int, following: _Next, between: bool) -> Node:
        """The last visited node or a following element, with the known nodes below it."""
        node = self.known.get((index, following, between))
        if node is None:
            below = self.chain[index] if index < len(self.chain) else None
            if below and following is _Next.BELOW and below.axis is not Axis.CHILD:
                below = replace(below, axis=Axis.CHILD)
            if between:
                assert below is not None
                node = Node(Axis.CHILD, Kind.ELEMENT, ANY, Facts(children=(below,)))
            else:
                node = self.chain[index - 1]
                if below is not None and not self.goals.plain:
                    node = _with_child(node, self.chain[index], below)
            self.known[index, following, between] = node
        return node


def _with_child(node: Node, old: Node, new: Node) -> Node:
    """The node with one child replaced by a more specific one."""
    if old.axis is new.axis:
        return node
    children = tuple(new if child is old else child for child in node.facts.children)
    return replace(node, facts=replace(node.facts, children=children))


def _word(came_from: dict[_At, tuple[_At, Kind, NameTest] | None], end: _At) -> Word:
    letters = []
    step = came_from[end]
    while step is not None:
        before, kind, name = step
        letters.append((kind, name))
        step = came_from[before]
    return tuple(reversed(letters))
