"""What a schema makes sure of: paths that every valid element must have below it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from penstock.language.ast import Kind, NameTest
from penstock.language.goals import Goals
from penstock.language.names import test_of
from penstock.language.universe import Name
from penstock.language.world import World

_Key: TypeAlias = tuple[Name, int]


class Unavoidable:
    """Whether a valid element can be completed without meeting any of some goals.

    Only steps without predicates are followed. An element in a state avoids the goals if the
    attributes it must have do not meet one, and some valid content is made of children which avoid
    them in turn; text is never required. That is a least fixed point, valid elements being finite.
    """

    def __init__(self, world: World, goals: Goals, spend: Callable[[], None]) -> None:
        self._world = world
        self._goals = goals
        self._spend = spend
        self._avoids: dict[_Key, bool] = {}

    def avoided(self, place: NameTest, state: int) -> bool:
        """Whether a valid element here need not meet any goal at or below it."""
        key = _key(place, state)
        if key not in self._avoids:
            self._settle(key)
        return self._avoids[key]

    def open_children(self, place: NameTest, state: int) -> frozenset[Name]:
        """The children with which an element here still avoids the goals."""
        children = self._world.elements(place)
        return frozenset(
            name
            for name in children
            if not (after := self._enter(state, name)) & self._goals.done
            and self.avoided(test_of(name), after)
        )

    def _enter(self, state: int, name: Name) -> int:
        return self._goals.advance(state, Kind.ELEMENT, test_of(name), None)

    def _settle(self, first: _Key) -> None:
        below: dict[_Key, list[_Key]] = {}
        todo = [first]
        while todo:
            key = todo.pop()
            if key in below or key in self._avoids:
                continue
            self._spend()
            name, state = key
            if state & self._goals.done or self._attributes_meet(key):
                self._avoids[key] = False
                continue
            below[key] = [
                (child, self._enter(state, child)) for child in self._world.elements(test_of(name))
            ]
            todo += below[key]
        undecided = set(below)
        grew = True
        while grew:
            grew = False
            for key in list(undecided):
                self._spend()
                among = frozenset(child[0] for child in below[key] if self._avoids.get(child))
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


def _key(place: NameTest, state: int) -> _Key:
    assert place.uri is not None
    assert place.local is not None
    return (place.uri, place.local), state
