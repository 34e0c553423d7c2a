"""The inbox: published documents in Parquet files, in publishing order.

A file is published in four steps; a crash may occur after any of them:

1. the file is written to the staging folder, inside a SQLite write transaction;
2. the transaction commits identities, sequence numbers and the file name: it is published;
3. the file is renamed into the inbox;
4. its name is deleted from the table of staged files.

A file that only reached step 1 is removed. One that reached step 2 is moved into the inbox by the
next process, before it publishes anything else, so that files appear in sequence order.
"""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BufferedWriter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.documents import Document
from penstock.errors import error
from penstock.workspace.atomic_files import atomic_write, sync_directory
from penstock.workspace.database import Database
from penstock.workspace.limits import (
    DOCUMENT_BYTES_MAX,
    INBOX_FILE_BYTES,
    INBOX_FILE_DOCUMENTS,
    INBOX_ROW_GROUP_BYTES,
)
from penstock.workspace.table_schemas import DOCUMENTS
from penstock.workspace.timestamps import utc_now

logger = logging.getLogger(__name__)

_SEQUENCE_DIGITS = 19
"""Enough for any 64-bit sequence number, so that file names sort by it."""

_MILLISECOND_NS = 1_000_000

_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Receipt:
    """Confirms that a document is published."""

    identity: str
    sequence: int
    """Its position in publishing order."""
    new: bool
    """Whether it was not published before."""


@dataclass(frozen=True, slots=True)
class Published:
    """Counts of documents that were published together."""

    new: int
    known: int
    """Documents that were published before, and are therefore not published again."""


class Inbox:
    """Published documents that wait for the pipeline."""

    def __init__(self, database: Database, folder: Path, staging: Path) -> None:
        self._database = database
        self.folder = folder
        self._staging = staging

    def publish_each(self, documents: Iterable[Document]) -> Iterator[Receipt]:
        """Publish documents; a receipt means that a document is on disk.

        Documents are published file by file, each file atomically. After an interruption, publish
        the same documents again: those that were published are skipped.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the disk is full; documents without a receipt are not published.
        DocumentError
            ``limit.document-bytes``
        """
        for chunk in _chunks(documents):
            yield from self._publish(chunk)

    def publish(self, documents: Iterable[Document]) -> Published:
        """Publish documents; returns how many were new."""
        new = known = 0
        for receipt in self.publish_each(documents):
            new += receipt.new
            known += not receipt.new
        return Published(new, known)

    def count_after(self, sequence: int) -> int:
        """The number of documents published after a sequence number."""
        with self._database.read_transaction() as connection:
            found = connection.execute(
                "SELECT count(*) FROM published WHERE sequence > ?", (sequence,)
            )
            return int(found.fetchone()[0])

    def recover(self) -> None:
        """Complete the work of a process that was killed while publishing."""
        with self._database.read_transaction() as connection:
            (staged,) = connection.execute("SELECT count(*) FROM staged").fetchone()
        if staged or any(self._staging.iterdir()):
            # Publishers hold the write lock, so other staged files are left over from a kill.
            with self._database.write_transaction() as connection:
                self._move_staged(connection)
                for path in self._staging.iterdir():
                    path.unlink()

    def count_identities_up_to(self, sequence: int) -> int:
        """The number of stored identities up to a sequence number."""
        with self._database.read_transaction() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM published WHERE sequence <= ?", (sequence,)
            ).fetchone()
        return int(count)

    def delete_identities_up_to(self, sequence: int) -> None:
        """Delete identities up to a sequence number: published again, the documents are new."""
        with self._database.write_transaction() as connection:
            connection.execute("DELETE FROM published WHERE sequence <= ?", (sequence,))
            connection.execute("DELETE FROM replays WHERE sequence <= ?", (sequence,))

    def stage(
        self, connection: sqlite3.Connection, documents: Sequence[tuple[str, Document]]
    ) -> int:
        """Publish documents under given identities, within the caller's write transaction.

        After committing, the caller must call :meth:`move_staged`.

        Returns
        -------
        The sequence number of the first document; the others follow consecutively.
        """
        self._move_staged(connection)
        (first,) = connection.execute("SELECT next FROM sequences").fetchone()
        name = f"{first:0{_SEQUENCE_DIGITS}}.parquet"
        connection.execute("UPDATE sequences SET next = ?", (first + len(documents),))
        connection.execute("INSERT INTO staged (name, first_sequence) VALUES (?, ?)", (name, first))
        connection.executemany(
            "INSERT INTO published (identity, sequence) VALUES (?, ?)"
            " ON CONFLICT (identity) DO UPDATE SET sequence = excluded.sequence",
            [(identity, first + offset) for offset, (identity, _) in enumerate(documents)],
        )
        try:
            with atomic_write(self._staging / name) as file:
                _write(file, documents, first)
        except OSError as failure:
            if failure.errno in _DISK_FULL:
                raise error("workspace.full", f"{self._staging}: {failure.strerror}") from failure
            raise
        return int(first)

    def move_staged(self) -> None:
        """Move published files from the staging folder into the inbox."""
        with self._database.write_transaction() as connection:
            self._move_staged(connection)

    def _publish(self, chunk: Sequence[Document]) -> list[Receipt]:
        identities = [document.identity for document in chunk]
        fresh: dict[str, Document] = {}
        with self._database.write_transaction() as connection:
            known = _sequences(connection, identities)
            for identity, document in zip(identities, chunk, strict=True):
                if identity not in known:
                    fresh.setdefault(identity, document)
            if fresh:
                first = self.stage(connection, list(fresh.items()))
                known.update({identity: first + offset for offset, identity in enumerate(fresh)})
        if fresh:
            self.move_staged()
        logger.info("published %d of %d documents", len(fresh), len(chunk))
        receipts = []
        for identity in identities:
            # Of two equal documents in a chunk, only the first is new.
            new = fresh.pop(identity, None) is not None
            receipts.append(Receipt(identity, known[identity], new))
        return receipts

    def _move_staged(self, connection: sqlite3.Connection) -> None:
        """Move staged files into the inbox, in order; the caller holds the write lock."""
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM staged ORDER BY first_sequence")
        ]
        for name in names:
            path = self._staging / name
            if path.exists():
                self._set_modification_time(path)
                path.rename(self.folder / name)
        if names:
            sync_directory(self.folder)
            connection.execute("DELETE FROM staged")

    def _set_modification_time(self, path: Path) -> None:
        """Make a file newer than any other in the inbox.

        Spark orders files by modification time in milliseconds, which may be equal for files that
        are written in quick succession.
        """
        times = [entry.stat().st_mtime_ns for entry in os.scandir(self.folder)]
        later = max(path.stat().st_mtime_ns, max(times, default=0) + _MILLISECOND_NS)
        os.utime(path, ns=(later, later))


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in lists that fit into one file."""
    chunk: list[Document] = []
    size = 0
    for document in documents:
        length = len(document.content)
        if length > DOCUMENT_BYTES_MAX:
            raise error(
                "limit.document-bytes",
                f"a document has {length} bytes, more than {DOCUMENT_BYTES_MAX}",
            )
        if chunk and (size + length > INBOX_FILE_BYTES or len(chunk) == INBOX_FILE_DOCUMENTS):
            yield chunk
            chunk, size = [], 0
        chunk.append(document)
        size += length
    if chunk:
        yield chunk


def _sequences(connection: sqlite3.Connection, identities: Iterable[str]) -> dict[str, int]:
    """The sequence numbers of those identities that are known."""
    found = {}
    for identity in identities:
        row = connection.execute(
            "SELECT sequence FROM published WHERE identity = ?", (identity,)
        ).fetchone()
        if row is not None:
            found[identity] = int(row[0])
    return found


def _write(file: BufferedWriter, documents: Sequence[tuple[str, Document]], first: int) -> None:
    published_at = utc_now()
    with pq.ParquetWriter(
        file,
        DOCUMENTS,
        compression="zstd",
        use_dictionary=False,
        write_statistics=["document", "sequence", "published_at"],
    ) as writer:
        for start, end in _row_groups(documents):
            rows = [
                {
                    "document": identity,
                    "publisher": document.header.publisher,
                    "schema": document.header.schema,
                    "fields": list(document.header.fields.items()),
                    "sequence": first + start + offset,
                    "published_at": published_at,
                    "content": document.content,
                }
                for offset, (identity, document) in enumerate(documents[start:end])
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=DOCUMENTS))


def _row_groups(documents: Sequence[tuple[str, Document]]) -> Iterator[tuple[int, int]]:
    """The start and end of each row group."""
    start = size = 0
    for position, (_, document) in enumerate(documents):
        length = len(document.content)
        if position > start and size + length > INBOX_ROW_GROUP_BYTES:
            yield start, position
            start, size = position, 0
        size += length
    yield start, len(documents)
