"""The journal of published documents: append-only files of entries with checksums.

An *entry* holds documents that were published together::

    header   magic, first sequence number, number of documents, bytes of the payload, bytes of the
             documents, checksum of the payload, checksum of the header
    payload  bytes of the notes, bytes of the rows, the notes as JSON, with spaces up to a multiple
             of 8 bytes, and the rows: an Arrow record batch in the columns of
             :data:`~penstock.workspace.table_schemas.DOCUMENTS`

Rows are not compressed. The pipeline compresses each document when it writes the documents table,
after which the journal's copy is removed; compressing it twice would cost more than any other part
of publishing. Entries of earlier versions are compressed with zstd: their rows have another length
than the payload states.

A file is named by the sequence number of its first document, so names sort in publishing order.
Entries never change. A reader finds entries behind a damaged one by searching for the next header.
A file begins with a random *salt* that the checksums of its headers include: bytes of a document
that look like an entry are therefore not mistaken for one.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Document
from penstock.errors import PenstockError, error
from penstock.workspace.checksums import crc32
from penstock.workspace.limits import JOURNAL_ROWS_BYTES_MAX
from penstock.workspace.table_schemas import DOCUMENTS
from penstock.workspace.timestamps import utc_now

SUFFIX: Final = ".journal"

_FILE_MAGIC: Final = b"\xf5PENSJ1\n"  # the first byte never occurs in UTF-8
_SALT_BYTES: Final = 8
FILE_HEADER_BYTES: Final = len(_FILE_MAGIC) + _SALT_BYTES
"""The offset of a file's first entry."""

_MAGIC: Final = b"\xf5PJ1"
_HEADER: Final = struct.Struct("<4sQIQQI")
_CHECKSUM: Final = struct.Struct("<I")
_LENGTHS: Final = struct.Struct("<IQ")
HEADER_BYTES: Final = _HEADER.size + _CHECKSUM.size

_ROWS_ALIGNMENT: Final = 8
"""Arrow reads numbers of this many bytes where they are in the payload."""

_SEQUENCE_DIGITS: Final = 19
"""Enough for any 64-bit sequence number, so that file names sort by it."""

_FILE_NAME: Final = re.compile(rf"[0-9]{{{_SEQUENCE_DIGITS}}}{re.escape(SUFFIX)}")

_SEARCH_BYTES: Final = 1 << 20
"""Bytes that are searched at a time for the entry behind a damaged one."""

_DECODER_ERRORS: Final = (
    *(pa.ArrowException, OSError, EOFError),
    *(ValueError, TypeError, OverflowError, RecursionError, struct.error),
)
"""What decoders of an entry raise for bytes that no program wrote."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The header of an entry, and where it is in its file."""

    offset: int
    first: int
    """Sequence number of the first document; the others follow consecutively."""
    documents: int
    payload_bytes: int
    content_bytes: int
    """Bytes of the documents, before compression."""
    checksum: int

    @property
    def last(self) -> int:
        """Sequence number of the last document."""
        return self.first + self.documents - 1

    @property
    def end(self) -> int:
        """The offset of the next entry."""
        return self.offset + HEADER_BYTES + self.payload_bytes


def file_name(first: int) -> str:
    """The name of the file whose first document has this sequence number."""
    return f"{first:0{_SEQUENCE_DIGITS}}{SUFFIX}"


def first_sequence(path: Path) -> int:
    """The sequence number of a file's first document."""
    return int(path.stem)


def journal_files(folder: Path) -> list[Path]:
    """The files of a journal, in publishing order; files with other names are ignored."""
    return [folder / name for name in sorted(os.listdir(folder)) if _FILE_NAME.fullmatch(name)]


def new_file_header() -> bytes:
    """The bytes that a new file begins with."""
    return _FILE_MAGIC + secrets.token_bytes(_SALT_BYTES)


def read_salt(path: Path) -> bytes | None:
    """The salt of a file; ``None`` if it does not begin like a file of the journal."""
    with path.open("rb") as file:
        header = file.read(FILE_HEADER_BYTES)
    is_valid = header.startswith(_FILE_MAGIC) and len(header) == FILE_HEADER_BYTES
    return salt_of(header) if is_valid else None


def salt_of(header: bytes) -> bytes:
    """The salt in the bytes that a file begins with."""
    return header[len(_FILE_MAGIC) :]


def document_rows(documents: Sequence[tuple[str, Document]], first: int) -> pa.RecordBatch:
    """Documents with their identities as rows, numbered from ``first``."""
    headers = [document.header for _, document in documents]
    columns: dict[str, Any] = {
        "document": [identity for identity, _ in documents],
        "publisher": [header.publisher for header in headers],
        "schema": [header.schema for header in headers],
        "fields": [list(header.fields.items()) for header in headers],
        "sequence": np.arange(first, first + len(documents)),
        "published_at": [utc_now()] * len(documents),
        "content": [document.content for _, document in documents],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in DOCUMENTS]
    return pa.RecordBatch.from_arrays(arrays, schema=DOCUMENTS)


def size_with_header(document: Document) -> int:
    """The bytes of a document and the characters of its header, which may be the larger part."""
    header = document.header
    fields = sum(len(name) + len(value) for name, value in header.fields.items())
    return len(document.content) + len(header.publisher) + len(header.schema) + fields


def encode_entry(
    batch: pa.RecordBatch, salt: bytes, notes: Mapping[str, Any] | None = None
) -> bytes:
    """The bytes of an entry: see :func:`entry_parts`."""
    return b"".join(entry_parts(batch, salt, notes))


def entry_parts(
    batch: pa.RecordBatch, salt: bytes, notes: Mapping[str, Any] | None = None
) -> tuple[bytes, pa.Buffer]:
    """The bytes of an entry: those before the rows, and the rows, which are written uncopied.

    Parameters
    ----------
    batch
        The documents, with consecutive sequence numbers.
    salt
        The salt of the file.
    notes
        A JSON object that is stored with them.

    Raises
    ------
    DocumentError
        ``limit.document-bytes``: the rows with all headers are too large.
    """
    sequence: Any = batch.column("sequence")[0]
    content: Any = batch.column("content")
    content_bytes = int(pc.sum(pc.binary_length(content)).as_py())
    rows = batch.serialize().slice()  # cannot be changed, so its checksum needs no copy
    if rows.size > JOURNAL_ROWS_BYTES_MAX:
        raise error(
            "limit.document-bytes",
            f"a document with its header has {rows.size} bytes, more than {JOURNAL_ROWS_BYTES_MAX}",
        )
    text = json.dumps(dict(notes)).encode() if notes else b""
    text += b" " * (-(_LENGTHS.size + len(text)) % _ROWS_ALIGNMENT)
    before_rows = _LENGTHS.pack(len(text), rows.size) + text
    header = _HEADER.pack(
        _MAGIC,
        sequence.as_py(),
        batch.num_rows,
        len(before_rows) + rows.size,
        content_bytes,
        crc32(rows, crc32(before_rows)),
    )
    return header + _CHECKSUM.pack(crc32(header + salt)) + before_rows, rows


class JournalFile:
    """A file of the journal, opened for reading.

    It is not mapped into memory: a process that reads a mapped file is killed if the file is
    truncated meanwhile.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor = os.open(path, os.O_RDONLY)
        self.size = os.fstat(self._descriptor).st_size
        self._salt = read_salt(path)

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def entries(self, offset: int = FILE_HEADER_BYTES) -> Iterator[Entry]:
        """The complete entries from an offset on; bytes that are not an entry are skipped.

        The payload is not verified.
        """
        while True:
            entry = self._entry(offset)
            if entry is None:
                # Damage, or the rest of an interrupted write: continue with the next header.
                found = self._find_header(offset + 1)
                if found is None:
                    return
                offset = found
                continue
            yield entry
            offset = entry.end

    def is_intact(self, entry: Entry) -> bool:
        """Whether an entry's payload has the checksum of the header."""
        return crc32(self._payload(entry)) == entry.checksum

    def rows(self, entry: Entry) -> pa.RecordBatch:
        """The documents of an entry.

        Raises
        ------
        WorkspaceError
            ``journal.damaged``
        """
        _, rows, rows_bytes = self._parts(entry)
        with self._damage_translated(entry):
            buffer = pa.py_buffer(rows)
            if buffer.size != rows_bytes:
                buffer = pa.decompress(buffer, decompressed_size=rows_bytes, codec="zstd")
            batch = pa.ipc.read_record_batch(buffer, DOCUMENTS)
            batch.validate(full=True)
            numbers = np.arange(batch.num_rows) + entry.first
            is_numbered = np.array_equal(
                batch.column("sequence").to_numpy(zero_copy_only=False), numbers
            )
            has_all = batch.num_rows == entry.documents and not batch.column("document").null_count
            if not (is_numbered and has_all):
                raise ValueError("these are not the documents of the header")
        return batch

    def notes(self, entry: Entry) -> dict[str, Any]:
        """The notes of an entry; empty if it has none.

        Raises
        ------
        WorkspaceError
            ``journal.damaged``
        """
        text, _, _ = self._parts(entry)
        with self._damage_translated(entry):
            return dict(json.loads(text)) if text.strip() else {}

    def _parts(self, entry: Entry) -> tuple[bytes, memoryview, int]:
        """The notes, the rows, and the size of the rows before compression."""
        payload = self._payload(entry)
        if crc32(payload) != entry.checksum:
            raise self._damage(entry)
        with self._damage_translated(entry):
            notes_bytes, rows_bytes = _LENGTHS.unpack_from(payload)
            end = _LENGTHS.size + notes_bytes
            if end > len(payload) or rows_bytes > JOURNAL_ROWS_BYTES_MAX:
                raise ValueError("the lengths are impossible")
            return payload[_LENGTHS.size : end], memoryview(payload)[end:], rows_bytes

    @contextlib.contextmanager
    def _damage_translated(self, entry: Entry) -> Iterator[None]:
        """Translates what decoders raise: a checksum does not prove that the bytes are valid."""
        try:
            yield
        except MemoryError:
            raise  # Arrow's is also one of the following
        except _DECODER_ERRORS as failure:
            raise self._damage(entry) from failure

    def _damage(self, entry: Entry) -> PenstockError:
        return error(
            "journal.damaged", f"{self.path}: the entry at byte {entry.offset} has been changed"
        )

    def _entry(self, offset: int) -> Entry | None:
        if self._salt is None or offset + HEADER_BYTES > self.size:
            return None
        both = os.pread(self._descriptor, HEADER_BYTES, offset)
        if len(both) < HEADER_BYTES:
            return None
        header = both[: _HEADER.size]
        magic, first, documents, payload_bytes, content_bytes, checksum = _HEADER.unpack(header)
        (expected,) = _CHECKSUM.unpack_from(both, _HEADER.size)
        if magic != _MAGIC or crc32(header + self._salt) != expected:
            return None
        entry = Entry(offset, first, documents, payload_bytes, content_bytes, checksum)
        return entry if entry.end <= self.size else None

    def _find_header(self, offset: int) -> int | None:
        """The offset of the next bytes that may be a header."""
        while offset < self.size:
            chunk = os.pread(self._descriptor, _SEARCH_BYTES, offset)
            found = chunk.find(_MAGIC)
            if found >= 0:
                return offset + found
            if len(chunk) < _SEARCH_BYTES:
                return None
            offset += len(chunk) - len(_MAGIC) + 1
        return None

    def _payload(self, entry: Entry) -> bytes:
        return os.pread(self._descriptor, entry.payload_bytes, entry.offset + HEADER_BYTES)
