"""Reads documents with the native reader, or with the reference if the core is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.documents.events import Event, Span, from_native
from penstock.documents.limits import Limits
from penstock.documents.reference import reader as reference
from penstock.errors import DocumentError, Where
from penstock.native import native

__all__ = ["Declarations", "PartReader", "Source", "Summary", "read_events", "read_summary"]

Source: TypeAlias = bytes | bytearray | memoryview | Iterable[bytes]
"""The bytes of a document, as one buffer or in chunks of any size."""

Declarations: TypeAlias = Literal["honour", "refuse"]
"""Treatment of document type declarations: honour internal entities and attribute defaults within
the limits, or refuse the document."""


@dataclass(frozen=True, slots=True)
class Summary:
    """Totals of a document."""

    elements: int
    attributes: int
    """Including DTD defaults, excluding namespace declarations."""

    bytes: int
    encoding: str
    """``utf-8``, ``utf-16le``, ``utf-16be``, ``us-ascii``, ``iso-8859-1`` or the label of another
    encoding."""

    doctype: Span | None
    """The document type declaration, if there is one."""


def read_events(
    source: Source,
    *,
    limits: Limits | None = None,
    entities: Mapping[str, str] | None = None,
    declarations: Declarations = "honour",
) -> list[Event]:
    """Read a document and return its events.

    Parameters
    ----------
    source
        The bytes of the document, or an iterable of chunks.
    limits
        The limits of the reader.
    entities
        Additional entities that the document may refer to: names and plain text.
    declarations
        Whether document type declarations are honoured or refused.

    Raises
    ------
    penstock.errors.DocumentError
        The document is not well-formed, exceeds a limit, or refers to external content.

    Examples
    --------
    >>> for event in read_events(b"<a>1 &lt; 2</a>"):
    ...     print(type(event).__name__, event.span)
    StartElement Span(start=0, end=3, from_entity=False)
    Text Span(start=3, end=11, from_entity=False)
    EndElement Span(start=0, end=15, from_entity=False)
    """
    content = _as_bytes(source)
    limits = limits or Limits()
    refuses = _refuses(declarations)
    if native is None:
        return reference.read(content, limits, entities or {}, refuses).events
    tuples, refusal = native.read_events(
        content, limits.by_name(), list((entities or {}).items()), refuses
    )
    raise_refusal(refusal)
    return from_native(tuples)


class PartReader:
    """Reads parts of a document with its document type declaration.

    The native core parses the declaration once, whatever the number of parts.

    >>> reader = PartReader("<!DOCTYPE a [<!ENTITY e '1'>]>", Limits(), {})
    >>> reader.events("<b>&e;</b>")[1].text
    '1'
    """

    def __init__(self, doctype: str, limits: Limits, entities: Mapping[str, str]) -> None:
        self._doctype = doctype
        self._limits = limits
        self._entities = entities
        self._native = native and native.PartReader(
            doctype, limits.by_name(), list(entities.items())
        )

    def events(self, part: str) -> list[Event]:
        """The events of a part; raises the error of a refused one."""
        if self._native is None:
            document = f"{self._doctype}{part}".encode()
            return read_events(document, limits=self._limits, entities=self._entities)
        tuples, refusal = self._native.read_events(part.encode())
        raise_refusal(refusal)
        return from_native(tuples)


def read_summary(
    source: Source,
    *,
    limits: Limits | None = None,
    entities: Mapping[str, str] | None = None,
    declarations: Declarations = "honour",
) -> Summary:
    """Read a document like :func:`read_events`, but return only its totals.

    >>> read_summary(b"<a b='1'><c/></a>")
    Summary(elements=2, attributes=1, bytes=17, encoding='utf-8', doctype=None)
    """
    content = _as_bytes(source)
    limits = limits or Limits()
    refuses = _refuses(declarations)
    if native is None:
        reading = reference.read(content, limits, entities or {}, refuses)
        return Summary(*reading.amounts())
    reader = native.DocumentReader(limits.by_name(), list((entities or {}).items()), refuses)
    summary, refusal = reader.read(content)
    raise_refusal(refusal)
    assert summary is not None, "neither a summary nor a refusal"
    elements, attributes, size, encoding, doctype = summary
    return Summary(elements, attributes, size, encoding, doctype and Span(*doctype))


def _as_bytes(source: Source) -> bytes | Iterable[bytes]:
    return bytes(source) if isinstance(source, bytearray | memoryview) else source


def _refuses(declarations: Declarations) -> bool:
    if declarations not in ("honour", "refuse"):
        raise ValueError(f"declarations must be 'honour' or 'refuse', not {declarations!r}")
    return declarations == "refuse"


def raise_refusal(refusal: tuple[str, str, int, int, int, str] | None) -> None:
    """Raises the error for which a tuple of the native core stands, if there is one."""
    if refusal is not None:
        code, message, offset, line, column, path = refusal
        where = Where(offset, line, column)
        raise DocumentError(code, message, where=where, path=path or None)
