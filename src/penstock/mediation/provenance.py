"""From nodes of a global document back to fragments of the original bytes.

A fragment is cut out of the original, so what it needs to stand alone, the namespaces in scope, is
what the original has there: not what the global document has where the node was moved to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import (
    Context,
    EndElement,
    Event,
    Fragment,
    Kind,
    Name,
    Span,
    StartElement,
    Text,
)

Bindings: TypeAlias = tuple[tuple[str, str], ...]
"""Prefixes and URIs in scope."""


Range: TypeAlias = tuple[Kind, Span, Name | None]
"""What a range is a part of, and what an attribute is called in the original."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a node of a global document stands for."""

    kind: Kind
    spans: tuple[Span, ...]
    name: Name | None = None
    """What an attribute is called in the original."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The namespaces in scope at every place of a document where a fragment can begin."""

    elements: Mapping[Span, Bindings]
    """Of each element by its range, its own declarations included; of several out of one entity,
    the outermost."""
    attributes: Mapping[Span, Bindings]
    """Of each attribute by its range: its element's."""
    outside: Mapping[int, Bindings]
    """Around the outermost node that begins at this byte."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Scopes:
        """Of a document, given as its reader's events."""
        elements: dict[Span, Bindings] = {}
        attributes: dict[Span, Bindings] = {}
        outside: dict[int, Bindings] = {}
        opened: list[Bindings] = [()]
        for event in events:
            if isinstance(event, StartElement):
                outside.setdefault(event.span.start, opened[-1])
                opened.append(event.namespaces)
                attributes |= {each.span: event.namespaces for each in event.attributes}
            elif isinstance(event, EndElement):
                elements[event.span] = opened.pop()
            elif isinstance(event, Text):
                outside.setdefault(event.span.start, opened[-1])
        return cls(elements, attributes, outside)

    def at(self, kind: Kind, span: Span) -> tuple[Kind, Bindings]:
        """What a range is by itself, and the namespaces in scope there."""
        if kind == "attribute":
            return kind, self.attributes[span]
        own = self.elements.get(span) if kind == "element" else None
        if own is not None:
            return kind, own
        return "content" if kind == "element" else kind, self.outside[span.start]


def fragments_of(
    content: bytes, context: Context, scopes: Scopes, origins: Iterable[Origin]
) -> tuple[Fragment, ...]:
    """The fragments that nodes stand for: one a range, each once, in the order of the original."""
    found = []
    for kind, span, name in ranges_of(origins):
        own_kind, namespaces = scopes.at(kind, span)
        found.append(
            Fragment.cut(
                content,
                own_kind,
                [span],
                namespaces=dict(namespaces),
                context=context,
                name=name,
            )
        )
    return tuple(found)


def ranges_of(origins: Iterable[Origin]) -> list[Range]:
    """The ranges of nodes, each once, in the order of the document, what holds another first."""

    def place(wanted: Range) -> tuple[int, int, str, Name, bool]:
        kind, span, name = wanted
        return span.start, -span.end, kind, name or Name("", ""), span.from_entity

    wanted = {(origin.kind, span, origin.name) for origin in origins for span in origin.spans}
    return sorted(wanted, key=place)
