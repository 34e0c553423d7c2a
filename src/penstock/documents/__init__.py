"""What a publisher can send: documents, fragments of them, and the one hardened XML reader."""

from penstock.documents.document import DeadLetter, Document, Header
from penstock.documents.events import (
    Attribute,
    EndElement,
    Event,
    Name,
    Span,
    StartElement,
    Text,
    TextBreak,
)
from penstock.documents.fragment import WRAPPER_URI, Context, Fragment, Kind
from penstock.documents.limits import Limits
from penstock.documents.reading import Declarations, Source, Summary, read_events, read_summary
from penstock.documents.writing import write

__all__ = [
    "WRAPPER_URI",
    "Attribute",
    "Context",
    "DeadLetter",
    "Declarations",
    "Document",
    "EndElement",
    "Event",
    "Fragment",
    "Header",
    "Kind",
    "Limits",
    "Name",
    "Source",
    "Span",
    "StartElement",
    "Summary",
    "Text",
    "TextBreak",
    "read_events",
    "read_summary",
    "write",
]
