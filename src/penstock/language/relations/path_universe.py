"""The schema interface of the relations.

A schema is a local tree grammar (an element's type is its name): possible roots, children with
cardinalities, attributes and text. Relations with a schema consider only valid documents. Recursion
is allowed.

An implementation of :class:`PathUniverse` may admit more documents than the schema, never fewer:
the relations stay sound, and are exact for the admitted documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

Name: TypeAlias = tuple[str, str]
"""An expanded name: namespace URI (``""`` for none) and local name."""


class TextRule(Enum):
    """The text that an element may directly contain."""

    NONE = "none"
    """No text: ``EMPTY`` in a DTD."""
    SPACE = "space"
    """Only white space between child elements, which XPath 1.0 still selects as text nodes."""
    ANY = "any"
    """Any text, possibly none."""


@dataclass(frozen=True, slots=True)
class Occurs:
    """The cardinality of children of one name."""

    required: bool = False
    """Every valid parent has at least one."""
    many: bool = True
    """More than one is possible."""


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """The declaration of an attribute of an element."""

    required: bool = False
    """Present in every valid element; a default counts only if documents contain it."""
    values: frozenset[str] | None = None
    """All possible values, if enumerated."""


class PathUniverse(Protocol):
    """A schema for the relations. Implementations are immutable and hashable."""

    def __hash__(self) -> int:
        """Derived facts are cached by schema."""

    def roots(self) -> frozenset[Name]:
        """The possible names of the root."""

    def children(self, element: Name) -> Mapping[Name, Occurs]:
        """The possible children of an element; empty for an unknown element."""

    def attributes(self, element: Name) -> Mapping[Name, AttributeRule]:
        """All possible attributes of an element."""

    def text(self, element: Name) -> TextRule:
        """The text rule of an element."""

    def admits(
        self, element: Name, among: frozenset[Name], wanted: frozenset[Name] = frozenset()
    ) -> bool:
        """Whether some valid content uses only names of ``among`` and contains all of ``wanted``.

        A content model is more specific than :meth:`children`: ``(a | b)`` requires neither child,
        yet admits no content without both. ``wanted`` is a subset of ``among``. Returns ``True`` if
        undecided.
        """
