"""A query's path expanded to the concrete paths it stands for: no ``//``, no ``*``.

The expansion walks the schema from its roots with the set of steps that a path so far can have
taken, and only where the rest of the query can still be met. Predicates are not looked at: the
paths of ``a[b]`` are those of ``a``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from penstock.language.ast import Axis, Kind, NameTest, Path, Query, Step
from penstock.language.universe import Name, PathUniverse, TextRule
from penstock.schema.limits import UNFOLD_LIMITS, UnfoldLimits


@dataclass(frozen=True, slots=True)
class ConcretePath:
    """The elements from the root down, and the attribute or text at the end, if any."""

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
    """The limits of :class:`UnfoldLimits` at which paths were left out; empty when none was."""


def expand(
    universe: PathUniverse, query: Query | Path, limits: UnfoldLimits = UNFOLD_LIMITS
) -> Expansion:
    """All concrete paths of a query, a union's branches together."""
    branches = query.branches if isinstance(query, Query) else (query,)
    walks = [_Walk(universe, branch.steps, limits) for branch in branches]
    paths = dict.fromkeys(path for walk in walks for path in walk.paths())
    ordered = sorted(paths, key=lambda path: len(path.elements))
    return Expansion(tuple(ordered), frozenset().union(*(walk.cut_at for walk in walks)))


class _Walk:
    """Breadth first from the roots; a *state* is the index of a step that may be taken next."""

    def __init__(
        self, universe: PathUniverse, steps: tuple[Step, ...], limits: UnfoldLimits
    ) -> None:
        self.cut_at: set[str] = set()
        self._universe = universe
        self._steps = steps
        self._limits = limits
        self._hopeful = _hopeful(universe, steps)

    def paths(self) -> Iterator[ConcretePath]:
        """The concrete paths, until a limit is met."""
        waiting: deque[tuple[tuple[Name, ...], frozenset[int]]] = deque([((), frozenset([0]))])
        size = 0
        while waiting:
            elements, states = waiting.popleft()
            for path in self._selected(elements, states):
                size += 1
                if size > self._limits.size_max:
                    self.cut_at.add("size_max")
                    return
                yield path
            for child, following in self._following(elements, states):
                if len(waiting) >= self._limits.size_max:
                    self.cut_at.add("size_max")
                    break
                waiting.append(((*elements, child), following))

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
        self, elements: tuple[Name, ...], states: frozenset[int]
    ) -> Iterator[tuple[Name, frozenset[int]]]:
        universe, limits = self._universe, self._limits
        names = sorted(universe.children(elements[-1]) if elements else universe.roots())
        for child in names:
            taken = {state + 1 for state in states if self._takes(state, child)}
            kept = {state for state in states if self._floats(state)}
            following = frozenset(state for state in taken | kept if child in self._hopeful[state])
            if not following:
                continue
            if len(elements) == limits.depth_max:
                self.cut_at.add("depth_max")
            elif elements.count(child) == limits.recursion_max:
                self.cut_at.add("recursion_max")
            else:
                yield child, following

    def _takes(self, state: int, child: Name) -> bool:
        if state == len(self._steps):
            return False
        step = self._steps[state]
        return step.kind is Kind.ELEMENT and _passes(step.test, child)

    def _floats(self, state: int) -> bool:
        return state < len(self._steps) and self._steps[state].axis is Axis.DESCENDANT


def _passes(test: NameTest, name: Name) -> bool:
    return test.uri in (None, name[0]) and test.local in (None, name[1])


def _hopeful(universe: PathUniverse, steps: tuple[Step, ...]) -> list[frozenset[Name]]:
    """For each state the elements from which the rest of the steps can be met."""
    parents = _parents(universe)
    hopeful = [frozenset(parents)]
    for step in reversed(steps):
        if step.kind is Kind.ELEMENT:
            targets = {name for name in hopeful[-1] if _passes(step.test, name)}
            found = {parent for name in targets for parent in parents[name]}
        elif step.kind is Kind.ATTRIBUTE:
            found = {
                element
                for element in parents
                if any(_passes(step.test, name) for name in universe.attributes(element))
            }
        else:
            found = {name for name in parents if universe.text(name) is not TextRule.NONE}
        if step.axis is Axis.DESCENDANT:
            found = _with_ancestors(found, parents)
        hopeful.append(frozenset(found))
    return hopeful[::-1]


def _parents(universe: PathUniverse) -> dict[Name, set[Name]]:
    """Each element that a root can lead to, with the elements that may contain it."""
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


def _with_ancestors(found: set[Name], parents: dict[Name, set[Name]]) -> set[Name]:
    result = set(found)
    waiting = list(found)
    while waiting:
        for parent in parents[waiting.pop()] - result:
            result.add(parent)
            waiting.append(parent)
    return result
