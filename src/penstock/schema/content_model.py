"""DTD declarations: elements, content models as expression trees, attributes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias, TypeVar

from penstock.errors import Where
from penstock.language.relations.path_universe import Occurs


class Indicator(Enum):
    """The occurrence indicator of a particle."""

    ONE = ""
    OPTIONAL = "?"
    ANY = "*"
    SOME = "+"

    @property
    def occurs(self) -> Occurs:
        """The cardinality of the indicator."""
        return Occurs(
            required=self in (Indicator.ONE, Indicator.SOME),
            many=self in (Indicator.ANY, Indicator.SOME),
        )


@dataclass(frozen=True, slots=True)
class Child:
    """A child element by name."""

    name: str
    indicator: Indicator = Indicator.ONE


@dataclass(frozen=True, slots=True)
class Sequence:
    """``(a, b, c)``"""

    items: tuple[Particle, ...]
    indicator: Indicator = Indicator.ONE


@dataclass(frozen=True, slots=True)
class Choice:
    """``(a | b | c)``"""

    items: tuple[Particle, ...]
    indicator: Indicator = Indicator.ONE


Particle: TypeAlias = Child | Sequence | Choice


@dataclass(frozen=True, slots=True)
class Empty:
    """``EMPTY``: neither text nor children."""


@dataclass(frozen=True, slots=True)
class AnyContent:
    """``ANY``: text and every declared element."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """``(#PCDATA | a | b)*``: text, and the named children in any number and order."""

    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Children:
    """Element content; only white space between the children."""

    particle: Particle


Content: TypeAlias = Empty | AnyContent | Mixed | Children


class Default(Enum):
    """The default declaration of an attribute."""

    REQUIRED = "#REQUIRED"
    IMPLIED = "#IMPLIED"
    FIXED = "#FIXED"
    VALUE = "value"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A declared attribute; ``values`` are its enumerated values in DTD order."""

    name: str
    type: str
    default: Default
    value: str | None = None
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Element:
    """A declared element; ``children`` holds the cardinality of each child."""

    name: str
    content: Content
    attributes: Mapping[str, Attribute]
    children: Mapping[str, Occurs]
    where: Where | None = None

    @property
    def has_text(self) -> bool:
        """Whether it may directly contain text other than white space."""
        return isinstance(self.content, AnyContent | Mixed)


def names_in(content: Content) -> Iterator[str]:
    """The child names in a content model, in order, possibly repeated."""
    if isinstance(content, Mixed):
        yield from content.names
    elif isinstance(content, Children):
        yield from _names_in_particle(content.particle)


def _names_in_particle(particle: Particle) -> Iterator[str]:
    if isinstance(particle, Child):
        yield particle.name
    else:
        for item in particle.items:
            yield from _names_in_particle(item)


def cardinalities(content: Content, any_content: Mapping[str, Occurs]) -> Mapping[str, Occurs]:
    """The cardinality of each child; ``any_content`` is that of ``ANY``, which elements share."""
    if isinstance(content, Empty):
        return {}
    if isinstance(content, AnyContent):
        return any_content
    if isinstance(content, Mixed):
        return dict.fromkeys(content.names, Indicator.ANY.occurs)
    return _cardinalities(content.particle)


def _cardinalities(particle: Particle) -> dict[str, Occurs]:
    outer = particle.indicator.occurs
    if isinstance(particle, Child):
        return {particle.name: outer}
    parts = [_cardinalities(item) for item in particle.items]
    inner = in_sequence(parts) if isinstance(particle, Sequence) else alternatives(parts)
    return {
        name: Occurs(occurs.required and outer.required, occurs.many or outer.many)
        for name, occurs in inner.items()
    }


Key = TypeVar("Key")


def in_sequence(parts: list[dict[Key, Occurs]]) -> dict[Key, Occurs]:
    """The cardinality of each child in a sequence of parts."""
    result: dict[Key, Occurs] = {}
    for part in parts:
        for name, occurs in part.items():
            known = result.get(name)
            # A child in two parts of a sequence may occur twice.
            result[name] = Occurs(known.required or occurs.required, True) if known else occurs
    return result


def alternatives(parts: list[dict[Key, Occurs]]) -> dict[Key, Occurs]:
    """The cardinality of each child in a choice of parts."""
    required: dict[Key, int] = {}
    many: dict[Key, bool] = {}
    for part in parts:
        for name, occurs in part.items():
            required[name] = required.get(name, 0) + occurs.required
            many[name] = many.get(name, False) or occurs.many
    return {name: Occurs(required[name] == len(parts), many[name]) for name in required}
