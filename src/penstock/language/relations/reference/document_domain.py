"""The document domain of relations: all documents, or those valid to a schema.

A *place* is what is known about a node's name: a name test, exact with a schema, otherwise a fresh
name that it accepts; ``None`` is the document node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from penstock.language.limits import MAX_CACHED_DOMAINS, MAX_CACHED_GOALS
from penstock.language.relations.path_universe import AttributeRule, Name, PathUniverse, TextRule
from penstock.language.relations.reference.name_tests import ANY, exact, includes, test_of
from penstock.language.xpath.ast import Axis, Kind, NameTest

Place: TypeAlias = NameTest | None

Leaf: TypeAlias = tuple[Kind, NameTest]
"""The kind and name of the selected node of a path."""

_NO_NAMES: frozenset[Name] = frozenset()


class DocumentDomain:
    """The documents considered, given a schema and the caller's single-valued elements."""

    def __init__(self, schema: PathUniverse | None, single_valued: frozenset[Name]) -> None:
        self.schema = schema
        self._single_valued = single_valued
        self._usable: dict[Place, dict[Name, NameTest]] = {}
        self._attributes: dict[Place, tuple[NameTest, ...]] = {}
        self._below: dict[Place, tuple[NameTest, ...]] = {}
        self._avoiding: dict[frozenset[Leaf], frozenset[Name]] = {}
        if schema is not None:
            self._productive = _productive(schema)

    def wider(self) -> DocumentDomain | None:
        """The domain without the schema: proofs there also hold here, and are cheaper."""
        return None if self.schema is None else domain_of(None, self._single_valued)

    def elements(self, parent: Place) -> Mapping[Name, NameTest]:
        """The possible element children of a valid parent; requires a schema."""
        assert self.schema is not None
        usable = self._usable.get(parent)
        if usable is None:
            if parent is None:
                names = self.schema.roots() & self._productive
            else:
                name = name_of(parent)
                among = self._productive & self.schema.children(name).keys()
                names = frozenset(
                    child for child in among if self.schema.admits(name, among, frozenset((child,)))
                )
            usable = self._usable[parent] = {name: test_of(name) for name in sorted(names)}
        return usable

    def below(self, parent: Place) -> tuple[NameTest, ...]:
        """The possible descendant elements of a valid parent; requires a schema."""
        known = self._below.get(parent)
        if known is None:
            seen: dict[NameTest, None] = {}
            waiting = [parent]
            while waiting:
                fresh = [name for name in self.elements(waiting.pop()).values() if name not in seen]
                seen.update(dict.fromkeys(fresh))
                waiting += fresh
            known = self._below[parent] = tuple(seen)
        return known

    def steps(self, parent: Place, kind: Kind, test: NameTest) -> Iterable[NameTest]:
        """The places that a step of this kind and name reaches from a parent."""
        if parent is None and kind is not Kind.ELEMENT:
            return ()
        if self.schema is None:
            return (test,)
        if kind is Kind.TEXT:
            return () if self.text(parent) is TextRule.NONE else (ANY,)
        names = self.elements(parent).values() if kind is Kind.ELEMENT else self._named(parent)
        return [name for name in names if includes(test, name)]

    def _named(self, parent: Place) -> tuple[NameTest, ...]:
        """The possible attributes of a parent."""
        assert self.schema is not None
        assert parent is not None
        known = self._attributes.get(parent)
        if known is None:
            names = sorted(self.schema.attributes(name_of(parent)))
            known = self._attributes[parent] = tuple(map(test_of, names))
        return known

    def ways(
        self, parent: Place, axis: Axis, kind: Kind, test: NameTest
    ) -> Iterator[tuple[Place, NameTest]]:
        """The possible (parent, place) pairs of a node of this kind and name below a parent.

        For elements the returned parent may be the given one: only attributes and text depend on
        it.
        """
        if axis is Axis.CHILD:
            for place in self.steps(parent, kind, test):
                yield parent, place
        elif self.schema is not None and kind is Kind.ELEMENT:
            for place in self.below(parent):
                if includes(test, place):
                    yield parent, place
        else:
            lower = (ANY,) if self.schema is None else self.below(parent)
            for above in (parent, *lower):
                for place in self.steps(above, kind, test):
                    yield above, place

    def attribute(self, parent: Place, name: NameTest) -> AttributeRule:
        """The declaration of an attribute at a place."""
        if self.schema is None or parent is None or not exact(name):
            return AttributeRule()
        return self.schema.attributes(name_of(parent)).get(name_of(name), AttributeRule())

    def text(self, parent: Place) -> TextRule:
        """The text rule of a parent."""
        if parent is None:
            return TextRule.NONE
        return TextRule.ANY if self.schema is None else self.schema.text(name_of(parent))

    def at_most_one(self, parent: Place, kind: Kind, test: NameTest) -> bool:
        """Whether a node at ``parent`` has at most one such child."""
        if parent is None:
            return kind is Kind.ELEMENT
        if not exact(test):
            return False
        name = name_of(test)
        if kind is Kind.ATTRIBUTE or name in self._single_valued:
            return True
        if kind is Kind.TEXT or self.schema is None:
            return False
        parents = [parent] if exact(parent) else self.below(None)
        return not any(
            name in rules and rules[name].many
            for rules in (
                self.schema.children(name_of(each)) for each in parents if includes(parent, each)
            )
        )

    def admits(
        self, element: NameTest, among: frozenset[Name], wanted: frozenset[Name] = _NO_NAMES
    ) -> bool:
        """Whether the element can be valid with only these children, including all wanted ones."""
        assert self.schema is not None
        return wanted <= among and self.schema.admits(name_of(element), among, wanted)

    def avoiding(self, leaves: frozenset[Leaf]) -> frozenset[Name]:
        """The elements that can be valid without any of these leaves below them."""
        known = self._avoiding.get(leaves)
        if known is None:
            known = frozenset()
            while True:
                grown = known | {
                    name_of(place)
                    for place in self.below(None)
                    if self._avoids(place, leaves, known)
                }
                if grown == known:
                    break
                known = grown
            if len(self._avoiding) == MAX_CACHED_GOALS:
                self._avoiding.clear()
            self._avoiding[leaves] = known
        return known

    def _avoids(self, place: NameTest, leaves: frozenset[Leaf], known: frozenset[Name]) -> bool:
        met = any(
            kind is Kind.ATTRIBUTE and includes(test, name) and self.attribute(place, name).required
            for kind, test in leaves
            for name in self._named(place)
        )
        return not met and self.admits(
            place,
            frozenset(
                child
                for child, name in self.elements(place).items()
                if child in known
                and not any(kind is Kind.ELEMENT and includes(test, name) for kind, test in leaves)
            ),
        )


def name_of(place: NameTest) -> Name:
    """The name of an exact place."""
    assert place.uri is not None
    assert place.local is not None
    return (place.uri, place.local)


def _productive(schema: PathUniverse) -> frozenset[Name]:
    """The names of elements below the roots that have a finite valid instance."""
    known: set[Name] = set(schema.roots())
    waiting = list(known)
    while waiting:
        fresh = schema.children(waiting.pop()).keys() - known
        known |= fresh
        waiting += fresh
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


@lru_cache(maxsize=MAX_CACHED_DOMAINS)
def domain_of(
    schema: PathUniverse | None, single_valued: frozenset[Name] = _NO_NAMES
) -> DocumentDomain:
    """The document domain of a schema; derived facts are cached."""
    return DocumentDomain(schema, single_valued)
