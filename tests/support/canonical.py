"""Events without what does not matter to a document's meaning."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from penstock.documents import EndElement, Event, Name, StartElement, Text

Meaning: TypeAlias = list[tuple[Name, tuple[tuple[Name, str], ...]] | str | None]


def canonical(events: Iterable[Event]) -> Meaning:
    """Names, attributes sorted, text joined across comments and instructions; ends as ``None``."""
    meaning: Meaning = []
    for event in events:
        if isinstance(event, StartElement):
            attributes = sorted((attribute.name, attribute.value) for attribute in event.attributes)
            meaning.append((event.name, tuple(attributes)))
        elif isinstance(event, EndElement):
            meaning.append(None)
        elif isinstance(event, Text):
            if meaning and isinstance(meaning[-1], str):
                meaning[-1] += event.text
            else:
                meaning.append(event.text)
    return meaning
