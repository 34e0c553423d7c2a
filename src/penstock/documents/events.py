"""Reader events as Python objects, for tests and code that is not performance-critical.

Engines receive the native reader's events directly and do not use these classes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

__all__ = [
    "Attribute",
    "EndElement",
    "Event",
    "Name",
    "Span",
    "StartElement",
    "Text",
    "TextBreak",
]


class Span(NamedTuple):
    """A range of the original bytes of a document, in its original encoding."""

    start: int
    """The first byte."""

    end: int
    """One past the last byte."""

    from_entity: bool = False
    """Whether the content comes from an entity; the span is then that of the outermost
    reference."""

    def joined(self, other: Span) -> Span:
        """The span from the start of this one to the end of ``other``, which follows it."""
        return Span(self.start, other.end, self.from_entity or other.from_entity)


class Name(NamedTuple):
    """An expanded name."""

    uri: str
    """The namespace URI; empty for no namespace."""

    local: str
    """The local name."""

    def __str__(self) -> str:
        return f"{{{self.uri}}}{self.local}" if self.uri else self.local


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute with its normalised value. Namespace declarations are not attributes."""

    name: Name
    value: str
    span: Span
    """``name="value"``; for a DTD default, the span of the start tag."""


@dataclass(frozen=True, slots=True)
class StartElement:
    """A start tag. An :class:`EndElement` follows immediately for an empty-element tag."""

    name: Name
    attributes: tuple[Attribute, ...]
    """In document order; DTD defaults last."""

    namespaces: tuple[tuple[str, str], ...]
    """Prefixes and URIs in scope, sorted by prefix; the default namespace's prefix is empty."""

    span: Span
    """The span of the start tag."""


@dataclass(frozen=True, slots=True)
class EndElement:
    """An end tag."""

    span: Span
    """The span of the element, from start tag to end tag."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text node: adjacent character data, CDATA sections and references; never empty."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TextBreak:
    """A comment or processing instruction inside the root; it separates text nodes."""


Event: TypeAlias = StartElement | EndElement | Text | TextBreak


def from_native(tuples: Iterable[Sequence[Any]]) -> list[Event]:
    """Converts the native core's tuples to events and joins adjacent text."""
    return list(joined(map(_event, tuples)))


def _event(parts: Sequence[Any]) -> Event:
    match parts:
        case ("start", name, attributes, namespaces, span):
            return StartElement(
                Name(*name),
                tuple(
                    Attribute(Name(*own), value, Span(*where)) for own, value, where in attributes
                ),
                namespaces,
                Span(*span),
            )
        case ("end", span):
            return EndElement(Span(*span))
        case ("text", text, span):
            return Text(text, Span(*span))
        case _:
            return TextBreak()


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """Joins adjacent text events into text nodes."""
    text: Text | None = None
    pieces: list[str] = []
    for event in events:
        if isinstance(event, Text):
            text = event if text is None else replace(text, span=text.span.joined(event.span))
            pieces.append(event.text)
            continue
        if text is not None:
            yield replace(text, text="".join(pieces))
            text, pieces = None, []
        yield event
