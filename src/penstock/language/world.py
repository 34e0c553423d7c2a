"""The documents that count: all of them, or those valid to a schema.

A *place* is what is known of a node's name: a name test, exact where there is a schema, otherwise
standing for the hardest name it accepts; ``None`` is the document node.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TypeAlias

from penstock.language.ast import Axis, Kind, NameTest
from penstock.language.limits import MAX_WORLDS_KEPT
from penstock.language.names import ANY, accepts, exact, test_of
from penstock.language.universe import AttributeRule, Name, PathUniverse, TextRule

Place: TypeAlias = NameTest | None

_NO_NAMES: frozenset[Name] = frozenset()


class World:
    """What a schema, and the caller's word on single-valued elements, say of documents."""

    def __init__(self, schema: PathUniverse | None, single_valued: frozenset[Name]) -> None:
        self.schema = schema
        self._single_valued = single_valued
        self._below: dict[Name, frozenset[Name]] = {}
        self._usable: dict[Name, frozenset[Name]] = {}
        if schema is not None:
            self._productive = _productive(schema)

    def elements(self, parent: Place) -> frozenset[Name]:
        """The element children a valid parent can have; only with a schema."""
        assert self.schema is not None
        if parent is None:
            return self.schema.roots() & self._productive
        name = _name_of(parent)
        usable = self._usable.get(name)
        if usable is None:
            among = self._productive & self.schema.children(name).keys()
            usable = frozenset(
                child for child in among if self.schema.admits(name, among, frozenset((child,)))
            )
            self._usable[name] = usable
        return usable

    def below(self, parent: Place) -> frozenset[Name]:
        """All proper descendants a valid parent can have; only with a schema."""
        if parent is None:
            found: frozenset[Name] = self.elements(None)
            return found.union(*(self.below(test_of(name)) for name in found))
        key = _name_of(parent)
        known = self._below.get(key)
        if known is None:
            seen: set[Name] = set()
            todo = [key]
            while todo:
                fresh = self.elements(test_of(todo.pop())) - seen
                seen |= fresh
                todo += fresh
            known = self._below[key] = frozenset(seen)
        return known

    def steps(self, parent: Place, kind: Kind, test: NameTest) -> Iterator[NameTest]:
        """The places one step of a path, of this kind and name, leads to from a parent."""
        if parent is None and kind is not Kind.ELEMENT:
            return
        if self.schema is None:
            yield test
        elif kind is Kind.ELEMENT:
            for name in sorted(self.elements(parent)):
                if accepts(test, name):
                    yield test_of(name)
        elif parent is not None and kind is Kind.ATTRIBUTE:
            for name in sorted(self.schema.attributes(_name_of(parent))):
                if accepts(test, name):
                    yield test_of(name)
        elif parent is not None and self.text(parent) is not TextRule.NONE:
            yield ANY

    def parents(self, parent: Place, axis: Axis) -> Iterator[Place]:
        """Where the parent of a step's node may be."""
        yield parent
        if axis is Axis.DESCENDANT:
            if self.schema is None:
                yield ANY
            else:
                yield from map(test_of, sorted(self.below(parent)))

    def attribute(self, parent: Place, name: NameTest) -> AttributeRule:
        """What is known of one attribute at a place."""
        if self.schema is None or parent is None or not exact(name):
            return AttributeRule()
        return self.schema.attributes(_name_of(parent)).get(_name_of(name), AttributeRule())

    def text(self, parent: Place) -> TextRule:
        """What text a parent may have."""
        if parent is None:
            return TextRule.NONE
        return TextRule.ANY if self.schema is None else self.schema.text(_name_of(parent))

    def at_most_one(self, parent: Place, kind: Kind, test: NameTest) -> bool:
        """Whether a node that passes ``parent`` has at most one such child."""
        if parent is None:
            return kind is Kind.ELEMENT
        if not exact(test):
            return False
        name = _name_of(test)
        if kind is Kind.ATTRIBUTE or name in self._single_valued:
            return True
        if kind is Kind.TEXT or self.schema is None:
            return False
        return all(
            name not in rules or not rules[name].many
            for rules in (
                self.schema.children(each)
                for each in ([_name_of(parent)] if exact(parent) else self.below(None))
                if accepts(parent, each)
            )
        )

    def admits(
        self, element: NameTest, among: frozenset[Name], wanted: frozenset[Name] = _NO_NAMES
    ) -> bool:
        """Whether the element can be valid with these children only, and with each wanted one."""
        assert self.schema is not None
        return wanted <= among and self.schema.admits(_name_of(element), among, wanted)


def _name_of(place: NameTest) -> Name:
    assert place.uri is not None
    assert place.local is not None
    return (place.uri, place.local)


def _productive(schema: PathUniverse) -> frozenset[Name]:
    """The names below the roots that some finite valid element has."""
    known: set[Name] = set(schema.roots())
    todo = list(known)
    while todo:
        fresh = schema.children(todo.pop()).keys() - known
        known |= fresh
        todo += fresh
    productive: frozenset[Name] = frozenset()
    while True:
        grown = frozenset(
            name
            for name in known
            if name in productive or schema.admits(name, productive & schema.children(name).keys())
        )
        if grown == productive:
            return productive
        productive = grown


@lru_cache(maxsize=MAX_WORLDS_KEPT)
def world(schema: PathUniverse | None, single_valued: frozenset[Name] = _NO_NAMES) -> World:
    """The world of a schema; derived facts are shared between calls."""
    return World(schema, single_valued)
