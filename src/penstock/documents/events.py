"""What a document says, as plain objects: for people, tests and everything that is not in a hurry.

Engines do not use these: they hear the native reader directly.
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
    """A range of a document's original bytes, whatever their encoding."""

    start: int
    """The first byte."""

    end: int
    """One past the last byte."""

    from_entity: bool = False
    """Whether something here came out of an entity; its range is then the outermost reference's."""

    def joined(self, other: Span) -> Span:
        """From the start of this one to the end of ``other``, which follows it."""
        return Span(self.start, other.end, self.from_entity or other.from_entity)


class Name(NamedTuple):
    """An expanded name."""

    uri: str
    """The namespace's URI, empty for none."""

    local: str
    """The local name."""

    def __str__(self) -> str:
        return f"{{{self.uri}}}{self.local}" if self.uri else self.local


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute, its value normalised. Namespace declarations are not attributes."""

    name: Name
    value: str
    span: Span
    """``name="value"``; for a default from the DTD, the whole start tag."""


@dataclass(frozen=True, slots=True)
class StartElement:
    """A start tag. An empty-element tag's :class:`EndElement` follows at once."""

    name: Name
    attributes: tuple[Attribute, ...]
    """In document order, defaults from the DTD last."""

    namespaces: tuple[tuple[str, str], ...]
    """Prefixes and URIs in scope, sorted by prefix; the default namespace's prefix is empty."""

    span: Span
    """The start tag itself."""


@dataclass(frozen=True, slots=True)
class EndElement:
    """An end tag."""

    span: Span
    """The whole element, start tag to end tag."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text node: character data, CDATA sections and references, joined; never empty."""

    text: str
    span: Span


@dataclass(frozen=True, slots=True)
class TextBreak:
    """A comment or processing instruction inside the root: the next text is another node."""


Event: TypeAlias = StartElement | EndElement | Text | TextBreak


def from_native(tuples: Iterable[Sequence[Any]]) -> list[Event]:
    """The events that the native core gave as tuples, pieces of text joined."""
    return list(joined(map(_event, tuples)))


def _event(parts: Sequence[Any]) -> Event:
    match parts:
        case ("start", name, attributes, namespaces, span):
            return StartElement(
                Name(*name),
                tuple(
                    Attribute(Name(*own), value, Span(*where)) for own, value, where in attributes
                ),
                tuple(sorted(namespaces)),
                Span(*span),
            )
        case ("end", span):
            return EndElement(Span(*span))
        case ("text", text, span):
            return Text(text, Span(*span))
        case _:
            return TextBreak()


def joined(events: Iterable[Event]) -> Iterator[Event]:
    """The same events, adjacent pieces of text joined into text nodes."""
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
