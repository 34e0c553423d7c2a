"""Paths that a schema requires below every valid element."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.language.relations.path_universe import Name
from penstock.language.relations.reference.document_domain import DocumentDomain, name_of
from penstock.language.relations.reference.goal_automaton import Goals
from penstock.language.relations.reference.name_tests import test_of
from penstock.language.xpath.ast import Kind, NameTest

_Key: TypeAlias = tuple[Name, int]


class Unavoidable:
    """Decides whether a valid element can avoid all of some goals.

    Follows only steps without predicates. An element in a goal state avoids the goals if its
    required attributes satisfy none of them, and some valid content consists of children that avoid
    them; text is never required. This is a least fixed point, because valid elements are finite.
    """

    def __init__(self, domain: DocumentDomain, goals: Goals, spend: Callable[[], None]) -> None:
        self._world = domain
        self._goals = goals
        self._spend = spend
        self._avoids: dict[_Key, bool] = {}
        # Most elements can avoid the goals in every state.
        self._always = domain.avoiding(
            frozenset((step.kind, step.test) for step in goals.last_steps)
        )

    def avoided(self, place: NameTest, state: int) -> bool:
        """Whether a valid element here can avoid all goals at or below it."""
        if state & self._goals.done:
            return False
        key = (name_of(place), state)
        if key[0] in self._always:
            return True
        if key not in self._avoids:
            self._settle(key)
        return self._avoids[key]

    def excludes(self, place: NameTest, state: int, child: NameTest) -> bool:
        """Whether an element with such a child must satisfy a goal."""
        children = self._world.elements(place)
        avoiding = frozenset(
            name
            for name, below in children.items()
            if self.avoided(below, self._enter(state, below))
        )
        return len(avoiding) < len(children) and not self._world.admits(
            place, avoiding, frozenset((name_of(child),))
        )

    def _enter(self, state: int, place: NameTest) -> int:
        return self._goals.advance(state, Kind.ELEMENT, place, None)

    def _settle(self, first: _Key) -> None:
        following: dict[_Key, list[_Key]] = {}
        waiting = [first]
        while waiting:
            key = waiting.pop()
            if key in following or key in self._avoids:
                continue
            self._spend()
            name, state = key
            if state & self._goals.done or self._attributes_meet(key):
                self._avoids[key] = False
                continue
            following[key] = [
                (child, self._enter(state, below))
                for child, below in self._world.elements(test_of(name)).items()
            ]
            waiting += following[key]
        undecided = set(following)
        grew = True
        while grew:
            grew = False
            for key in list(undecided):
                self._spend()
                among = frozenset(child[0] for child in following[key] if self._avoids.get(child))
                if self._world.admits(test_of(key[0]), among):
                    self._avoids[key] = grew = True
                    undecided.discard(key)
        for key in undecided:
            self._avoids[key] = False

    def _attributes_meet(self, key: _Key) -> bool:
        name, state = key
        schema = self._world.schema
        assert schema is not None
        return any(
            rule.required
            and self._goals.advance(state, Kind.ATTRIBUTE, test_of(attribute), None)
            & self._goals.done
            for attribute, rule in schema.attributes(name).items()
        )
