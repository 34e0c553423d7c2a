"""The inbox: published documents, in Parquet files, in the order of publishing.

A file takes four steps, of which each can be the last before a power cut:

1. it is written to the staging folder, under the lock of SQLite's writers;
2. identities, sequence numbers and the file's name are committed: now it is published;
3. it is renamed into the inbox;
4. its name is taken off the list of staged files.

A file of step 1 alone is nobody's, and removed. One of step 2 is brought into the inbox by whoever
comes next, before anything else is published, so that files appear in the order of their numbers.
"""

from __future__ import annotations

import errno
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
from penstock.workspace.atomic_files import sync_folder, writing
from penstock.workspace.database import Database
from penstock.workspace.limits import (
    DOCUMENT_BYTES_MAX,
    INBOX_FILE_BYTES,
    INBOX_FILE_DOCUMENTS,
    INBOX_ROW_GROUP_BYTES,
)
from penstock.workspace.table_schemas import DOCUMENTS
from penstock.workspace.timestamps import now

_SEQUENCE_DIGITS = 19
"""Enough for any sequence number, so that the names of files sort by it."""

_MILLISECOND_NS = 1_000_000

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a document that was published."""

    identity: str
    sequence: int
    """Its place in the order of publishing; of one that was there before, that of then."""
    new: bool
    """Whether it was not there before."""


@dataclass(frozen=True, slots=True)
class Published:
    """What became of documents that were published together."""

    new: int
    known: int
    """Those that had been published before: the same again is the same document."""


class Inbox:
    """Where documents wait for the pipeline."""

    def __init__(self, database: Database, folder: Path, staging: Path) -> None:
        self._database = database
        self.folder = folder
        self._staging = staging

    def publish_each(self, documents: Iterable[Document]) -> Iterator[Receipt]:
        """Publish documents; a receipt means that a document is safe on the disk.

        Documents are published file by file. Each file is published whole or not at all, and
        after an interruption the same may be published again: what was there is known.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the disk has no room; what has no receipt is not published.
        DocumentError
            ``limit.document-bytes``
        """
        for pack in _packs(documents):
            yield from self._publish(pack)

    def publish(self, documents: Iterable[Document]) -> Published:
        """Publish documents, and count them."""
        new = known = 0
        for receipt in self.publish_each(documents):
            new += receipt.new
            known += not receipt.new
        return Published(new, known)

    def count_after(self, sequence: int) -> int:
        """How many documents were published after one."""
        with self._database.reading() as connection:
            found = connection.execute(
                "SELECT count(*) FROM published WHERE sequence > ?", (sequence,)
            )
            return int(found.fetchone()[0])

    def recover(self) -> None:
        """Finish what a process left that was stopped while publishing."""
        with self._database.reading() as connection:
            (staged,) = connection.execute("SELECT count(*) FROM staged").fetchone()
        if staged or any(self._staging.iterdir()):
            # Whoever publishes has the lock: what else is there now is nobody's.
            with self._database.writing() as connection:
                self._finish(connection)
                for path in self._staging.iterdir():
                    path.unlink()

    def known_up_to(self, sequence: int) -> int:
        """How many identities are known of documents up to a place in the order."""
        with self._database.reading() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM published WHERE sequence <= ?", (sequence,)
            ).fetchone()
        return int(count)

    def forget_up_to(self, sequence: int) -> None:
        """Forget documents up to a place in the order: published again, they are new."""
        with self._database.writing() as connection:
            connection.execute("DELETE FROM published WHERE sequence <= ?", (sequence,))
            connection.execute("DELETE FROM replays WHERE sequence <= ?", (sequence,))

    def stage(
        self, connection: sqlite3.Connection, documents: Sequence[tuple[str, Document]]
    ) -> int:
        """Publish documents under the identities given, as part of a transaction of the caller's.

        They reach the inbox once the caller calls :meth:`deliver` after committing.

        Returns
        -------
        The sequence number of the first; the others follow.
        """
        self._finish(connection)
        (first,) = connection.execute("SELECT next FROM sequences").fetchone()
        name = f"{first:0{_SEQUENCE_DIGITS}}.parquet"
        connection.execute("UPDATE sequences SET next = ?", (first + len(documents),))
        connection.execute("INSERT INTO staged (name, first_sequence) VALUES (?, ?)", (name, first))
        connection.executemany(
            "INSERT INTO published (identity, sequence) VALUES (?, ?)"
            " ON CONFLICT (identity) DO UPDATE SET sequence = excluded.sequence",
            [(identity, first + place) for place, (identity, _) in enumerate(documents)],
        )
        try:
            with writing(self._staging / name) as file:
                _write(file, documents, first)
        except OSError as failure:
            if failure.errno in _NO_ROOM:
                raise error("workspace.full", f"{self._staging}: {failure.strerror}") from failure
            raise
        return int(first)

    def deliver(self) -> None:
        """Bring into the inbox what is published."""
        with self._database.writing() as connection:
            self._finish(connection)

    def _publish(self, pack: Sequence[Document]) -> list[Receipt]:
        identities = [document.identity for document in pack]
        fresh: dict[str, Document] = {}
        with self._database.writing() as connection:
            known = _sequences(connection, identities)
            for identity, document in zip(identities, pack, strict=True):
                if identity not in known:
                    fresh.setdefault(identity, document)
            if fresh:
                first = self.stage(connection, list(fresh.items()))
                known.update({identity: first + place for place, identity in enumerate(fresh)})
        if fresh:
            self.deliver()
        receipts = []
        for identity in identities:
            # The second of two equal ones in a pack is known.
            new = fresh.pop(identity, None) is not None
            receipts.append(Receipt(identity, known[identity], new))
        return receipts

    def _finish(self, connection: sqlite3.Connection) -> None:
        """Bring staged files into the inbox, in order, while nobody else publishes."""
        names = [
            name
            for (name,) in connection.execute("SELECT name FROM staged ORDER BY first_sequence")
        ]
        for name in names:
            path = self._staging / name
            if path.exists():
                self._date(path)
                path.rename(self.folder / name)
        if names:
            sync_folder(self.folder)
            connection.execute("DELETE FROM staged")

    def _date(self, path: Path) -> None:
        """Give a file a later time than any before it in the inbox.

        Spark takes files by their times, to the millisecond; those of the disk may be the same
        for files that are written one after the other.
        """
        files = [entry.stat().st_mtime_ns for entry in os.scandir(self.folder)]
        later = max(path.stat().st_mtime_ns, max(files, default=0) + _MILLISECOND_NS)
        os.utime(path, ns=(later, later))


def _packs(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in lists that fit a file."""
    pack: list[Document] = []
    size = 0
    for document in documents:
        length = len(document.content)
        if length > DOCUMENT_BYTES_MAX:
            raise error(
                "limit.document-bytes",
                f"a document has {length} bytes, and {DOCUMENT_BYTES_MAX} can be published",
            )
        if pack and (size + length > INBOX_FILE_BYTES or len(pack) == INBOX_FILE_DOCUMENTS):
            yield pack
            pack, size = [], 0
        pack.append(document)
        size += length
    if pack:
        yield pack


def _sequences(connection: sqlite3.Connection, identities: Iterable[str]) -> dict[str, int]:
    """The places of those documents that have been published before."""
    found = {}
    for identity in identities:
        row = connection.execute(
            "SELECT sequence FROM published WHERE identity = ?", (identity,)
        ).fetchone()
        if row is not None:
            found[identity] = int(row[0])
    return found


def _write(file: BufferedWriter, documents: Sequence[tuple[str, Document]], first: int) -> None:
    published_at = now()
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
                    "sequence": first + start + place,
                    "published_at": published_at,
                    "content": document.content,
                }
                for place, (identity, document) in enumerate(documents[start:end])
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=DOCUMENTS))


def _row_groups(documents: Sequence[tuple[str, Document]]) -> Iterator[tuple[int, int]]:
    """Where each row group begins and ends."""
    start = size = 0
    for place, (_, document) in enumerate(documents):
        length = len(document.content)
        if place > start and size + length > INBOX_ROW_GROUP_BYTES:
            yield start, place
            start, size = place, 0
        size += length
    yield start, len(documents)
