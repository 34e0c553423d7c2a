"""Appends entries to the journal and its index, and completes what a killed publisher left."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.documents import Document
from penstock.errors import WorkspaceError, error
from penstock.workspace import published_identities as index
from penstock.workspace.atomic_files import sync_directory, sync_file
from penstock.workspace.damage_records import record_damage, record_publications
from penstock.workspace.journal import (
    FILE_HEADER_BYTES,
    JournalFile,
    document_rows,
    entry_parts,
    file_name,
    first_sequence,
    journal_files,
    new_file_header,
    read_salt,
    size_with_header,
)
from penstock.workspace.journal_scanner import Missing
from penstock.workspace.limits import INBOX_FILE_BYTES, JOURNAL_ENTRY_BYTES
from penstock.workspace.private_files import open_private
from penstock.workspace.published_identities import Position

_DISK_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@contextlib.contextmanager
def full_disk_translated(folder: Path) -> Iterator[None]:
    """Translates what the file system raises on a full disk."""
    try:
        yield
    except OSError as failure:
        if failure.errno in _DISK_FULL:
            raise error("workspace.full", f"{folder}: {failure.strerror}") from failure
        raise


class JournalAppender:
    """Appends entries to the journal, within the lock and a transaction of the index."""

    def __init__(self, connection: sqlite3.Connection, folder: Path, position: Position) -> None:
        self.connection = connection
        self.position = position
        self._folder = folder
        self._before = position
        self._created: list[Path] = []

    def append(
        self,
        documents: Sequence[tuple[str, Document]],
        replays: Sequence[Mapping[str, Any]] | None = None,
    ) -> int:
        """Append documents under given identities.

        Returns
        -------
        The sequence number of the first document; the others follow consecutively.
        """
        first = self.position.next
        with full_disk_translated(self._folder):
            for start, end in _entries(documents):
                notes = {"replays": list(replays[start:end])} if replays else {}
                rows = document_rows(documents[start:end], first + start)
                self._append_entry(rows, notes)
        return first

    @property
    def has_begun_file(self) -> bool:
        """Whether a file was begun."""
        return bool(self._created)

    def undo(self) -> None:
        """Remove what was appended, unless the index names it already.

        If the process is killed before, the next one indexes it.
        """
        with contextlib.suppress(OSError):
            # The newest first: if the process is killed here, no file is missing before another.
            for path in reversed(self._created):
                path.unlink()
            if self._before.file:
                os.truncate(self._folder / self._before.file, self._before.offset)

    def _append_entry(self, rows: pa.RecordBatch, notes: Mapping[str, Any]) -> None:
        salt = self._prepare_file()
        parts = entry_parts(rows, salt, notes)
        position = self.position
        end = position.offset
        descriptor = os.open(self._folder / position.file, os.O_WRONLY)
        try:
            for part in parts:
                end = _write_all(descriptor, part, end)
        finally:
            os.close(descriptor)
        _index_rows(self.connection, rows, notes)
        self._move(Position(position.file, end, position.next + rows.num_rows))

    def _prepare_file(self) -> bytes:
        """Begin a new file unless the current one can take another entry; returns the salt."""
        position = self.position
        if position.file and position.offset < INBOX_FILE_BYTES:
            salt = read_salt(self._folder / position.file)
            if salt is not None:
                return salt
        if position.file:
            # Later flushes concern the new file only.
            sync_file(self._folder / position.file)
        path = self._folder / file_name(position.next)
        header = new_file_header()
        with open(path, "xb", opener=open_private) as file:
            self._created.append(path)
            file.write(header)
        sync_directory(self._folder)
        self._move(Position(path.name, FILE_HEADER_BYTES, position.next))
        salt = read_salt(path)
        assert salt is not None, "the file was just written"
        return salt

    def _move(self, position: Position) -> None:
        index.write_position(self.connection, position)
        self.position = position


def _write_all(descriptor: int, content: bytes | pa.Buffer, offset: int) -> int:
    """Write at an offset; returns the end."""
    rest = memoryview(content)
    while rest:
        written = os.pwrite(descriptor, rest, offset)
        rest, offset = rest[written:], offset + written
    return offset


def _index_rows(
    connection: sqlite3.Connection, rows: pa.RecordBatch, notes: Mapping[str, Any]
) -> None:
    identities, sequences = (rows.column(name).to_pylist() for name in ("document", "sequence"))
    pairs: list[tuple[Any, Any]] = list(zip(identities, sequences, strict=True))
    index.add_identities(connection, pairs)
    connection.executemany(
        "INSERT OR REPLACE INTO replays (sequence, replay_of, identity, fixed, replayed_at)"
        " VALUES (?, ?, ?, ?, ?)",
        [
            (sequence, replay["replay_of"], identity, replay["fixed"], replay["at"])
            for (identity, sequence), replay in zip(pairs, notes.get("replays", ()), strict=False)
        ],
    )
    record_publications(connection, pairs)


def _entries(documents: Sequence[tuple[str, Document]]) -> Iterator[tuple[int, int]]:
    """The start and end of each entry."""
    start = size = 0
    for position, (_, document) in enumerate(documents):
        length = size_with_header(document)
        if position > start and size + length > JOURNAL_ENTRY_BYTES:
            yield start, position
            start, size = position, 0
        size += length
    if documents:
        yield start, len(documents)


# Recovery after a kill.


def is_indexed(folder: Path, position: Position) -> bool:
    """Whether the index is up to date with the journal."""
    if (folder / file_name(position.next)).exists():
        return False
    if not position.file:
        return True
    try:
        return (folder / position.file).stat().st_size == position.offset
    except FileNotFoundError:
        return False


def catch_up(connection: sqlite3.Connection, folder: Path, damaged_folder: Path) -> Position:
    """Index entries of killed publishers, and cut off incomplete ones; returns the position."""
    position = index.read_position(connection)
    if is_indexed(folder, position):
        return position
    path = folder / position.file if position.file else None
    if path is not None:
        position = _catch_up_file(connection, path, position, damaged_folder)
    # Files that were begun since. A group of documents may fill several.
    for begun in [each for each in journal_files(folder) if first_sequence(each) >= position.next]:
        first = first_sequence(begun)
        if first > position.next:
            missing = Missing(position.next, first - 1, path, "an entry is damaged")
            record_damage(connection, missing, damaged_folder)
        start = Position(begun.name, FILE_HEADER_BYTES, first)
        position, path = _catch_up_file(connection, begun, start, damaged_folder), begun
    position = _cut_off(folder, position)
    index.write_position(connection, position)
    return position


def _catch_up_file(
    connection: sqlite3.Connection, path: Path, position: Position, damaged_folder: Path
) -> Position:
    """Index the entries behind a position in a file."""
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        return Position("", 0, position.next)  # the pipeline will report it
    if size < position.offset:
        if path.name == file_name(position.next):
            return position  # begun by a killed publisher, and empty
        _record_truncation(connection, path, position, damaged_folder)
        return Position("", 0, position.next)
    end, following = position.offset, position.next
    with JournalFile(path) as file:
        for entry in file.entries(position.offset):
            if entry.first < following:
                continue  # within an incomplete entry: a document that is a copy of this file
            try:
                rows, notes = file.rows(entry), file.notes(entry)
            except WorkspaceError:
                continue
            if entry.first > following:
                missing = Missing(following, entry.first - 1, path, "an entry is damaged")
                record_damage(connection, missing, damaged_folder)
            _index_rows(connection, rows, notes)
            end, following = entry.end, entry.last + 1
    return Position(path.name, end, following)


def _cut_off(folder: Path, position: Position) -> Position:
    """Cut off an entry whose publisher was killed, and got no receipt."""
    if not position.file:
        return position
    path = folder / position.file
    if position.offset == FILE_HEADER_BYTES:
        path.unlink()
        return Position("", 0, position.next)
    os.truncate(path, position.offset)
    return position


def _record_truncation(
    connection: sqlite3.Connection, path: Path, position: Position, damaged_folder: Path
) -> None:
    """Record the documents that a file no longer contains, because it became shorter."""
    last = first_sequence(path) - 1
    with JournalFile(path) as file:
        for entry in file.entries():
            last = max(last, entry.last)
    if last + 1 < position.next:
        missing = Missing(last + 1, position.next - 1, path, "the file is truncated")
        record_damage(connection, missing, damaged_folder)
