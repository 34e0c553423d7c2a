"""Documents, fragments and the hardened XML reader."""

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
from penstock.documents.limits import RECORD_BYTES, Limits
from penstock.documents.reading import Declarations, Source, Summary, read_events, read_summary
from penstock.documents.records import (
    CutPoint,
    Range,
    Record,
    RecordBatch,
    RecordCutter,
    Steps,
    cut_records,
)
from penstock.documents.writing import write

__all__ = [
    "RECORD_BYTES",
    "WRAPPER_URI",
    "Attribute",
    "Context",
    "CutPoint",
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
    "Range",
    "Record",
    "RecordBatch",
    "RecordCutter",
    "Source",
    "Span",
    "StartElement",
    "Steps",
    "Summary",
    "Text",
    "TextBreak",
    "cut_records",
    "read_events",
    "read_summary",
    "write",
]
