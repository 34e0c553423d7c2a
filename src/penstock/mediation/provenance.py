"""Maps nodes of a global document to fragments of the original bytes.

A fragment is cut from the original, so its namespaces in scope are those at its original position,
not those at the node's position in the global document.
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
"""Prefixes and URIs of the namespaces in scope."""


Range: TypeAlias = tuple[Kind, Span, Name | None]
"""A span with its kind and the original name of an attribute."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """The provenance of a node of a global document."""

    kind: Kind
    spans: tuple[Span, ...]
    name: Name | None = None
    """The original name of an attribute."""


@dataclass(frozen=True, slots=True)
class Scopes:
    """The namespaces in scope at each position where a fragment can start."""

    elements: Mapping[Span, Bindings]
    """By span of the element, including its own declarations; for several elements from one entity,
    those of the outermost."""
    attributes: Mapping[Span, Bindings]
    """By span of the attribute: those of its element."""
    outside: Mapping[int, Bindings]
    """By start offset: those around the outermost node that starts there."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> Scopes:
        """Collects the scopes from the events of a document."""
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
        """The kind of a span and the namespaces in scope there."""
        if kind == "attribute":
            return kind, self.attributes[span]
        own = self.elements.get(span) if kind == "element" else None
        if own is not None:
            return kind, own
        return "content" if kind == "element" else kind, self.outside[span.start]


def fragments_of(
    content: bytes, context: Context, scopes: Scopes, provenance: Iterable[Provenance]
) -> tuple[Fragment, ...]:
    """The distinct fragments of nodes, one per span, in the order of the original."""
    found = []
    for kind, span, name in ranges_of(provenance):
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


def ranges_of(provenance: Iterable[Provenance]) -> list[Range]:
    """The distinct spans of nodes in document order, outer before inner."""

    def place(wanted: Range) -> tuple[int, int, str, Name, bool]:
        kind, span, name = wanted
        return span.start, -span.end, kind, name or Name("", ""), span.from_entity

    wanted = {(origin.kind, span, origin.name) for origin in provenance for span in origin.spans}
    return sorted(wanted, key=place)
