"""Huge documents cut into records: natively, or where that cannot be by the reference.

A record is an element on a path of child steps from the root, such as ``/feed/entry``. Its content
is a document of its own: the record's bytes as they are where they stand alone, and otherwise what
:meth:`penstock.documents.Fragment.to_xml` makes of them, in UTF-8, because they inherit namespaces,
refer to entities, or are in another encoding. What is not well-formed is not lost either: the good
records before the fault are given, and then one more that holds the rest up to the fault, fails to
be read in the same way, and says why.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias

from penstock.documents.limits import MIB, RECORD_BYTES, Limits
from penstock.documents.reading import Source
from penstock.documents.reference import records as reference_records
from penstock.errors import PenstockError, Where, error
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
"""A path: for each level from the root on the namespace URI and the local name, ``None`` for any;
the URI ``""`` is no namespace."""


class Record(NamedTuple):
    """One record."""

    start: int
    """Its first byte in the original."""

    end: int
    """One past its last."""

    content: bytes
    """A document that stands alone; of a faulty record, one that fails to be read."""

    fault: PenstockError | None
    """Why it is no good."""


@dataclass(frozen=True, slots=True)
class CutPoint:
    """A place between two records, from which reading can go on without what came before."""

    position: int = 0
    """The offset in the original."""

    records: int = 0
    """How many records there are before."""

    prefix: tuple[Range, ...] = ()
    """What to read first instead of all that came before: the declarations, and the start tags of
    the elements that are open here."""


@dataclass(frozen=True, slots=True)
class RecordBatch:
    """Some records, in document order, in the form that Arrow takes."""

    contents: bytes
    """The contents, one after the other."""

    offsets: memoryview
    """Where each begins and ends there: 32 bits each, one more than there are records."""

    starts: memoryview
    """Where each begins in the original: 64 bits each."""

    ends: memoryview
    """Where each ends in the original: 64 bits each."""

    ancestors: list[tuple[int, list[Range]]]
    """The start tags around a record and those after it, by the record's number, until the next."""

    faults: Mapping[int, PenstockError] = field(default_factory=dict)
    """Why some of them are no good, by their numbers."""

    def __len__(self) -> int:
        return len(self.starts)

    def content(self, number: int) -> bytes:
        """The content of a record."""
        return self.contents[self.offsets[number] : self.offsets[number + 1]]


class RecordCutter:
    """Cuts a stream of bytes into records, holding only a part of it.

    Parameters
    ----------
    chunks
        The bytes, cut anywhere; after ``at.prefix``, what begins at ``at.position``.
    steps
        The path to the records.
    limits
        What is too much. A stream of records may be as long as it likes: ``document_bytes`` and
        ``entity_bytes`` do not apply.
    entities
        Entities that records may refer to without declaring them: names and plain text.
    record_bytes
        Bytes of a record; a longer one is faulty.
    contents
        Whether contents are wanted, or only where the records are.
    at
        Where ``chunks`` begins.
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
        """Read on by about so many bytes, and give the records there; ``None`` after the end."""
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
        """All batches up to the end."""
        while (batch := self.next_batch(bytes_wanted)) is not None:
            yield batch

    def rest(self) -> Record | None:
        """After the end: what could not be read, where that is so."""
        end = self._cutter.end()
        if end is None:
            return None
        refusal, content, start = end
        if refusal is None:
            return None
        code, message, offset, line, column = refusal
        fault = error(code, message, Where(offset, line, column))
        return Record(start, max(offset, start), content, fault)

    def prolog(self) -> tuple[Range, ...]:
        """The declarations that any later record may need."""
        return tuple(self._cutter.prolog())


def cut_records(
    source: Source,
    steps: Steps,
    *,
    limits: Limits | None = None,
    entities: Mapping[str, str] | None = None,
    record_bytes: int = RECORD_BYTES,
) -> Iterator[Record]:
    """Cut a document into records, and at a fault give the rest.

    Parameters
    ----------
    source
        The document's bytes, or an iterable of chunks of them.
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
