"""What the relations between queries need to know of a schema.

A schema is a tree grammar in which an element's type is its name: which elements may be the root,
which children an element may have and how often, which attributes, whether text. With one, only
documents that are valid to it count. Recursion is allowed: an element may be its own descendant.

Whoever implements :class:`PathUniverse` may admit more documents than the schema does, never fewer:
the relations then stay sound, and are exact for the documents that are admitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeAlias

Name: TypeAlias = tuple[str, str]
"""A resolved name: namespace URI (``""`` where there is none) and local name."""


class TextRule(Enum):
    """What text an element may have as children of its own."""

    NONE = "none"
    """No text node at all: a DTD's ``EMPTY``."""
    SPACE = "space"
    """White space only, between child elements; XPath 1.0 selects it as text nodes all the same."""
    ANY = "any"
    """Any text, also none."""


@dataclass(frozen=True, slots=True)
class Occurs:
    """How often one parent may have children of one name."""

    required: bool = False
    """At least one in every valid parent."""
    many: bool = True
    """More than one is possible."""


@dataclass(frozen=True, slots=True)
class AttributeRule:
    """What is known of one attribute of one element."""

    required: bool = False
    """Present in every valid element as it is read; a default counts only if documents carry it."""
    values: frozenset[str] | None = None
    """All values it can take, where they are enumerated."""


class PathUniverse(Protocol):
    """A schema as the relations see it. Implementations are immutable and hashable."""

    def __hash__(self) -> int:
        """Derived facts are kept by schema."""

    def roots(self) -> frozenset[Name]:
        """The names a document's root may have."""

    def children(self, element: Name) -> Mapping[Name, Occurs]:
        """The children an element may have; empty for an element the schema does not know."""

    def attributes(self, element: Name) -> Mapping[Name, AttributeRule]:
        """The attributes an element may have; no other is allowed."""

    def text(self, element: Name) -> TextRule:
        """What text an element may have."""

    def admits(
        self, element: Name, among: frozenset[Name], wanted: frozenset[Name] = frozenset()
    ) -> bool:
        """Whether some valid content uses only the names in ``among``, and each in ``wanted``.

        This is where a content model says more than :meth:`children`: ``(a | b)`` requires neither,
        yet does not admit content without both. ``wanted`` is a subset of ``among``. Where it is
        unsure it says yes.
        """
