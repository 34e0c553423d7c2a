"""The beginning of a document as a reading of its own."""

from __future__ import annotations

from dataclasses import replace

from penstock.documents import EndElement, Event, Span, StartElement
from penstock.documents.reference.reader import Reading


def prefix_of(reading: Reading, stop_at: int) -> Reading:
    """The document up to the first end tag that ends at ``stop_at`` or later.

    All open elements end there. End tags in entities are not considered: they all end where the
    reference to the entity does.
    """
    depth = 0
    for number, event in enumerate(reading.events, start=1):
        match event:
            case StartElement():
                depth += 1
            case EndElement(span=span):
                depth -= 1
                if span.end >= stop_at and not span.from_entity:
                    closed: list[Event] = [EndElement(Span(span.end, span.end))] * depth
                    return replace(reading, events=reading.events[:number] + closed, size=span.end)
            case _:
                pass
    return reading
