"""Splits huge documents into records, natively or with the reference if the core is missing.

A record is an element selected by a path of child steps from the root, such as ``/feed/entry``. Its
content is a standalone document: the original bytes if they are self-contained, otherwise
(inherited namespaces, entity references, other encodings) the result of
:meth:`penstock.documents.Fragment.to_xml` in UTF-8. If the document is not well-formed, the good
records before the fault are returned, followed by one faulty record that holds the rest, fails to
parse for the same reason, and carries the error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from penstock.documents.limits import MIB, RECORD_BYTES, Limits
from penstock.documents.reading import Source
from penstock.documents.reference import records as reference_records
from penstock.errors import DocumentError, PenstockError, Where, error
from penstock.native import native

__all__ = [
    "CutPoint",
    "Range",
    "Record",
    "RecordBatch",
    "RecordCutter",
    "Steps",
    "cut_records",
]

BATCH_BYTES: Final = 1 * MIB

Range: TypeAlias = tuple[int, int]
"""The first byte, and one past the last."""

Steps: TypeAlias = tuple[tuple[str | None, str | None], ...]
"""A path: namespace URI and local name for each level from the root; ``None`` matches anything, the
URI ``""`` means no namespace."""


class Record(NamedTuple):
    """One record."""

    start: int
    """Offset of the first byte in the original."""

    end: int
    """Offset one past the last byte."""

    content: bytes
    """A standalone document; for a faulty record, one that fails to parse."""

    fault: PenstockError | None
    """The error of a faulty record."""


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A position between two records where reading can resume without the preceding bytes."""

    position: int = 0
    """The offset in the original."""

    records: int = 0
    """Number of preceding records."""

    prefix: tuple[Range, ...] = ()
    """Ranges to read first instead of all preceding bytes: the declarations, and the start tags of
    the open elements."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """A batch of records in document order, in Arrow's layout."""

    contents: bytes
    """The concatenated contents."""

    offsets: memoryview
    """32-bit offsets into ``contents``; one more than records."""

    starts: memoryview
    """64-bit start offsets in the original."""

    ends: memoryview
    """64-bit end offsets in the original."""

    ancestors: list[tuple[int, list[Range]]]
    """Runs of records with the same ancestors: number of the first record, and the ancestors' start
    tags."""

    faults: Mapping[int, PenstockError] = field(default_factory=dict)
    """The errors of faulty records, by number."""

    def __len__(self) -> int:
        return len(self.starts)

    def content(self, number: int) -> bytes:
        """The content of a record."""
        return self.contents[self.offsets[number] : self.offsets[number + 1]]


class RecordCutter:
    """Splits a stream of bytes into records in bounded memory.

    Parameters
    ----------
    chunks
        The bytes in chunks of any size: ``at.prefix``, followed by the bytes from ``at.position``.
    steps
        The path to the records.
    limits
        The limits of the reader. A stream of records may have any length: ``document_bytes`` and
        ``entity_bytes`` do not apply.
    entities
        Additional entities that records may refer to: names and plain text.
    record_bytes
        Maximum size of a record; a longer one is faulty.
    contents
        Whether to return contents, or only positions.
    at
        The position where ``chunks`` starts.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        steps: Steps,
        *,
        limits: Limits | None = None,
        entities: Mapping[str, str] | None = None,
        record_bytes: int = RECORD_BYTES,
        contents: bool = True,
        at: CutPoint | None = None,
    ) -> None:
        at = at or CutPoint()
        cutter = reference_records.RecordCutter if native is None else native.RecordCutter
        self._cutter = cutter(
            chunks,
            list(steps),
            (limits or Limits()).by_name(),
            list((entities or {}).items()),
            record_bytes,
            contents,
            list(at.prefix),
            at.position,
        )

    def next_batch(self, bytes_wanted: int = BATCH_BYTES) -> RecordBatch | None:
        """Read about ``bytes_wanted`` more bytes and return their records; ``None`` at the end."""
        batch = self._cutter.next_batch(bytes_wanted)
        if batch is None:
            return None
        contents, offsets, starts, ends, ancestors, faults = batch
        return RecordBatch(
            contents,
            memoryview(offsets).cast("i"),
            memoryview(starts).cast("q"),
            memoryview(ends).cast("q"),
            ancestors,
            {number: error(code, message) for number, code, message in faults},
        )

    def batches(self, bytes_wanted: int = BATCH_BYTES) -> Iterator[RecordBatch]:
        """All remaining batches."""
        while (batch := self.next_batch(bytes_wanted)) is not None:
            yield batch

    def rest(self) -> Record | None:
        """After the last batch: the part that could not be read, if any."""
        end = self._cutter.end()
        if end is None:
            return None
        refusal, content, start = end
        if refusal is None:
            return None
        code, message, offset, line, column, path = refusal
        fault = error(code, message, Where(offset, line, column))
        if isinstance(fault, DocumentError):
            fault.path = path or None
        return Record(start, max(offset, start), content, fault)

    def prolog(self) -> tuple[Range, ...]:
        """The declarations that later records may need."""
        return tuple(self._cutter.prolog())


def cut_records(
    source: Source,
    steps: Steps,
    *,
    limits: Limits | None = None,
    entities: Mapping[str, str] | None = None,
    record_bytes: int = RECORD_BYTES,
) -> Iterator[Record]:
    """Split a document into records; after a fault, the last record holds the rest.

    Parameters
    ----------
    source
        The bytes of the document, or an iterable of chunks.
    steps
        The path to the records.
    limits, entities, record_bytes
        As for :class:`RecordCutter`.

    Examples
    --------
    >>> feed = b'<feed xmlns="urn:f"><entry>1</entry><entry>2</entry><entry></feed>'
    >>> for record in cut_records(feed, ((None, "feed"), ("urn:f", "entry"))):
    ...     print(record.start, record.content, record.fault and record.fault.code)
    20 b'<entry xmlns="urn:f">1</entry>' None
    36 b'<entry xmlns="urn:f">2</entry>' None
    52 b'<feed xmlns="urn:f"><entry></feed>' xml.end-tag
    """
    cutter = RecordCutter(
        [bytes(source)] if isinstance(source, bytes | bytearray | memoryview) else source,
        steps,
        limits=limits,
        entities=entities,
        record_bytes=record_bytes,
    )
    for batch in cutter.batches():
        for number in range(len(batch)):
            yield Record(
                batch.starts[number],
                batch.ends[number],
                batch.content(number),
                batch.faults.get(number),
            )
    rest = cutter.rest()
    if rest is not None:
        yield rest
