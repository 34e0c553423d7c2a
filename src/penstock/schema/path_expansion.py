"""Expands a query to its concrete paths in a schema, without ``//`` and ``*``.

The expansion traverses the schema from its roots with the set of query states that the path so far
can be in, and only where the rest of the query can still be satisfied. Predicates are ignored: the
paths of ``a[b]`` are those of ``a``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from penstock.language.relations.path_universe import Name, PathUniverse, TextRule
from penstock.language.xpath.ast import Axis, Kind, NameTest, Path, Query, Step
from penstock.schema.limits import UNFOLD_LIMITS, UnfoldLimits


@dataclass(frozen=True, slots=True)
class ConcretePath:
    """The elements from the root down, optionally ending with an attribute or text."""

    elements: tuple[Name, ...]
    attribute: Name | None = None
    text: bool = False

    def __str__(self) -> str:
        parts = [_shown(name) for name in self.elements]
        if self.attribute:
            parts.append("@" + _shown(self.attribute))
        if self.text:
            parts.append("text()")
        return "/" + "/".join(parts)


def _shown(name: Name) -> str:
    uri, local = name
    return f"{{{uri}}}{local}" if uri else local


@dataclass(frozen=True, slots=True)
class Expansion:
    """The concrete paths of a query, shortest first."""

    paths: tuple[ConcretePath, ...]
    cut_at: frozenset[str]
    """The limits of :class:`UnfoldLimits` that truncated the result; empty if it is complete."""


def expand(
    universe: PathUniverse, query: Query | Path, limits: UnfoldLimits = UNFOLD_LIMITS
) -> Expansion:
    """All concrete paths of a query, including all branches of a union."""
    branches = query.branches if isinstance(query, Query) else (query,)
    walks = [_SchemaTraversal(universe, branch.steps, limits) for branch in branches]
    paths = dict.fromkeys(path for walk in walks for path in walk.paths())
    ordered = sorted(paths, key=lambda path: len(path.elements))
    return Expansion(tuple(ordered), frozenset().union(*(walk.cut_at for walk in walks)))


class _SchemaTraversal:
    """Traverses the schema from the roots, by increasing path length.

    A *state* is the index of the next step. The remaining length bounds the distance of an element
    to the end of the query, so only paths that can be completed are visited, and a truncated result
    contains the shortest paths.
    """

    def __init__(
        self, universe: PathUniverse, steps: tuple[Step, ...], limits: UnfoldLimits
    ) -> None:
        self.cut_at: set[str] = set()
        self._universe = universe
        self._steps = steps
        self._limits = limits
        self._distances = _distances(universe, steps)
        self._looked_at = 0
        self._longer = True

    def paths(self) -> Iterator[ConcretePath]:
        """The concrete paths, shortest first, until a limit is reached."""
        for length in range(1, self._limits.depth_max + 1):
            self._longer = False
            yield from self._of_length(length)
            if not self._longer or "size_max" in self.cut_at:
                return
        self.cut_at.add("depth_max")

    def _of_length(self, length: int) -> Iterator[ConcretePath]:
        waiting: list[tuple[tuple[Name, ...], frozenset[int]]] = [((), frozenset([0]))]
        while waiting:
            elements, states = waiting.pop()
            self._looked_at += 1
            if self._looked_at > self._limits.size_max:
                self.cut_at.add("size_max")
                return
            if len(elements) == length:
                yield from self._selected(elements, states)
            following = list(self._following(elements, states, length - len(elements) - 1))
            waiting.extend(((*elements, child), states) for child, states in reversed(following))

    def _selected(
        self, elements: tuple[Name, ...], states: frozenset[int]
    ) -> Iterator[ConcretePath]:
        if not elements:
            return
        if len(self._steps) in states:
            yield ConcretePath(elements)
        last = self._steps[-1]
        if len(self._steps) - 1 not in states:
            return
        if last.kind is Kind.ATTRIBUTE:
            for name in self._universe.attributes(elements[-1]):
                if _passes(last.test, name):
                    yield ConcretePath(elements, attribute=name)
        elif last.kind is Kind.TEXT and self._universe.text(elements[-1]) is not TextRule.NONE:
            yield ConcretePath(elements, text=True)

    def _following(
        self, elements: tuple[Name, ...], states: frozenset[int], left: int
    ) -> Iterator[tuple[Name, frozenset[int]]]:
        """The children from which the query can be completed within ``left`` more elements."""
        universe = self._universe
        for child in sorted(universe.children(elements[-1]) if elements else universe.roots()):
            taken = {state + 1 for state in states if self._takes(state, child)}
            kept = {state for state in states if self._floats(state)}
            distances = {
                state: self._distances[state][child]
                for state in taken | kept
                if child in self._distances[state]
            }
            if not distances:
                continue
            if elements.count(child) == self._limits.recursion_max:
                self.cut_at.add("recursion_max")
                continue
            near = frozenset(state for state, distance in distances.items() if distance <= left)
            self._longer = self._longer or len(near) < len(distances)
            if near:
                yield child, near

    def _takes(self, state: int, child: Name) -> bool:
        if state == len(self._steps):
            return False
        step = self._steps[state]
        return step.kind is Kind.ELEMENT and _passes(step.test, child)

    def _floats(self, state: int) -> bool:
        return state < len(self._steps) and self._steps[state].axis is Axis.DESCENDANT


def _passes(test: NameTest, name: Name) -> bool:
    return test.uri in (None, name[0]) and test.local in (None, name[1])


def _distances(universe: PathUniverse, steps: tuple[Step, ...]) -> list[dict[Name, int]]:
    """For each state and element, the minimum number of further elements to complete the query.

    Elements from which the query cannot be completed are missing.
    """
    parents = _parents(universe)
    found = [dict.fromkeys(parents, 0)]
    for step in reversed(steps):
        if step.kind is Kind.ELEMENT:
            here: dict[Name, int] = {}
            for name, distance in found[-1].items():
                if _passes(step.test, name):
                    for parent in parents[name]:
                        here[parent] = min(distance + 1, here.get(parent, distance + 1))
        elif step.kind is Kind.ATTRIBUTE:
            here = {
                element: 0
                for element in parents
                if any(_passes(step.test, name) for name in universe.attributes(element))
            }
        else:
            here = {name: 0 for name in parents if universe.text(name) is not TextRule.NONE}
        found.append(_from_above(here, parents) if step.axis is Axis.DESCENDANT else here)
    return found[::-1]


def _parents(universe: PathUniverse) -> dict[Name, set[Name]]:
    """The possible parents of each element that is reachable from a root."""
    parents: dict[Name, set[Name]] = {root: set() for root in universe.roots()}
    waiting = list(parents)
    while waiting:
        element = waiting.pop()
        for child in universe.children(element):
            if child not in parents:
                parents[child] = set()
                waiting.append(child)
            parents[child].add(element)
    return parents


def _from_above(here: dict[Name, int], parents: dict[Name, set[Name]]) -> dict[Name, int]:
    """Extends the distances to all ancestors, nearest first."""
    result: dict[Name, int] = {}
    waiting = [(distance, name) for name, distance in here.items()]
    heapify(waiting)
    while waiting:
        distance, name = heappop(waiting)
        if name not in result:
            result[name] = distance
            for parent in parents[name]:
                heappush(waiting, (distance + 1, parent))
    return result
