"""Journal files: an entry is read whole or refused as damaged, and entries behind it are found.

The first byte selects what the rest is: a whole file, the payload of an entry, the rows of an
entry, or those of an earlier version before their compression. Checksums are computed for all but
the first, so that their decoders are reached.
"""

from __future__ import annotations

import struct
import tempfile
import zlib
from pathlib import Path
from typing import Final

import pyarrow as pa

from penstock.documents import Document, Header
from penstock.errors import WorkspaceError
from penstock.workspace.journal import (
    FILE_HEADER_BYTES,
    HEADER_BYTES,
    JournalFile,
    document_rows,
    encode_entry,
)

DICTIONARY = None

_FOLDER = tempfile.TemporaryDirectory(prefix="penstock-fuzz-")
_SALT: Final = b"saltsalt"
_FILE_HEADER: Final = b"\xf5PENSJ1\n" + _SALT
_LENGTHS: Final = struct.Struct("<IQ")
_KINDS: Final = ("file", "payload", "rows", "compressed rows")


def _entry(first: int = 1) -> bytes:
    header = Header(publisher="wire", schema="news", fields={"a": "1"})
    documents = [(f"wire/{number}", Document(b"<a/>" * number, header)) for number in (1, 2)]
    notes = {"replays": [{"replay_of": 7, "fixed": True, "at": 1}]}
    return encode_entry(document_rows(documents, first), _SALT, notes)


_INTACT: Final = _entry(3)


def seeds() -> list[bytes]:
    """A file of two entries, and the parts of an entry."""
    entry = _entry()
    payload = entry[HEADER_BYTES:]
    notes_bytes, _ = _LENGTHS.unpack_from(payload)
    rows = payload[_LENGTHS.size + notes_bytes :]
    whole = _FILE_HEADER + entry + _INTACT
    return [b"\0" + whole, b"\0" + whole[:-9], b"\1" + payload, b"\2" + rows, b"\3" + rows]


def with_checksums(payload: bytes) -> bytes:
    """An entry of two documents with a given payload."""
    fields = struct.pack("<4sQIQQ", b"\xf5PJ1", 1, 2, len(payload), 12)
    header = fields + struct.pack("<I", zlib.crc32(payload))
    return header + struct.pack("<I", zlib.crc32(header + _SALT)) + payload


def run_input(data: bytes) -> None:
    """Read all entries of a file."""
    if not data:
        return
    kind, rest = _KINDS[data[0] % len(_KINDS)], data[1:]
    if kind == "file":
        content = rest
    else:
        if kind == "rows":
            rest = _LENGTHS.pack(0, len(rest)) + rest
        elif kind == "compressed rows":
            compressed: bytes = pa.compress(rest, codec="zstd", asbytes=True)
            rest = _LENGTHS.pack(0, len(rest)) + compressed
        content = _FILE_HEADER + with_checksums(rest) + _INTACT
    path = Path(_FOLDER.name) / "1.journal"
    path.write_bytes(content)
    found, codes = [], []
    with JournalFile(path) as file:
        end = FILE_HEADER_BYTES
        for entry in file.entries():
            assert end <= entry.offset < entry.end <= len(content)
            end = entry.end
            try:
                # A time out of Python's range is valid in Arrow.
                rows = file.rows(entry).drop_columns(["published_at"]).to_pylist()
                file.notes(entry)
            except WorkspaceError as damage:
                codes.append(damage.code)
                continue
            assert all(isinstance(row["document"], str) for row in rows)
            assert [row["sequence"] for row in rows] == list(range(entry.first, entry.last + 1))
            found.append(entry.first)
    assert set(codes) <= {"journal.damaged"}
    assert kind == "file" or found[-1] == 3, "damage must not hide the next entry"
