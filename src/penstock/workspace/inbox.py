"""The inbox: published documents in a journal, in publishing order.

Publishing takes three steps; a crash may occur after any of them:

1. under the inbox's lock, the documents are appended to the journal;
2. still under the lock, their identities are added to the index;
3. the lock is released, and the file is flushed to disk: only then there is a receipt.

Flushes of concurrent publishers happen outside the lock, so that the file system writes them
together. What a killed publisher appended is indexed by the next process that takes the lock; the
rest of an incomplete entry is cut off. A document that equals one which is not flushed yet gets its
receipt after a flush of its own.

Documents that turn out to be unreadable are recorded as damaged, with their file kept aside, and
their identities are forgotten: published again, they are new documents, and no longer damaged.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from penstock.documents import Document, Header
from penstock.errors import error
from penstock.workspace import parquet_inbox
from penstock.workspace import published_identities as index
from penstock.workspace.atomic_files import sync_file
from penstock.workspace.damage_records import record_damage, record_restoration
from penstock.workspace.database import Database
from penstock.workspace.file_locks import file_lock
from penstock.workspace.journal import (
    JournalFile,
    first_sequence,
    journal_files,
    size_with_header,
)
from penstock.workspace.journal_appender import (
    JournalAppender,
    catch_up,
    full_disk_translated,
    is_indexed,
)
from penstock.workspace.journal_scanner import JournalScanner, Missing
from penstock.workspace.limits import (
    DOCUMENT_BYTES_MAX,
    PUBLISHED_AT_ONCE_BYTES,
    PUBLISHED_AT_ONCE_MAX,
)
from penstock.workspace.published_identities import Position
from penstock.workspace.timestamps import from_microseconds, to_microseconds, utc_now

logger = logging.getLogger(__name__)

LOCK: Final = "inbox.lock"


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


@dataclass(frozen=True, slots=True)
class PublishedDocuments:
    """Documents of the inbox, and up to where they were read."""

    documents: list[tuple[int, Document]]
    """Sequence numbers and documents."""
    last: int
    """The sequence number up to which all were read."""
    missing: int
    """Documents that cannot be read: their file is damaged, or was removed by retention."""


@dataclass(frozen=True, slots=True)
class DamagedDocuments:
    """Published documents that cannot be read, because their inbox file is damaged."""

    file: str
    """The name of the file, which is kept in the folder ``damaged``; empty if it is missing."""
    reason: str
    first: int
    last: int
    """Their sequence numbers."""

    @property
    def documents(self) -> int:
        """Their number."""
        return self.last - self.first + 1


@dataclass(frozen=True, slots=True)
class Replay:
    """A dead letter that was published again."""

    sequence: int
    """Its new sequence number."""
    fixed: bool
    """Whether other bytes were published."""
    at: Any


class Inbox:
    """Published documents that wait for the pipeline.

    Parameters
    ----------
    root
        The folder of the workspace.
    read_only
        Whether the inbox is only read, without any writes to disk.
    """

    def __init__(self, root: Path, *, read_only: bool = False) -> None:
        self.folder = root / "inbox"
        self.damaged_folder = root / "damaged"
        self._lock = root / LOCK
        self._index = Database(root / index.FILE, read_only=read_only, synchronous="NORMAL")

    def close(self) -> None:
        """Close the index."""
        self._index.close()

    def publish_each(self, documents: Iterable[Document]) -> Iterator[Receipt]:
        """Publish documents; a receipt means that a document is on disk.

        Documents are published in groups, each atomically. After an interruption, publish the same
        documents again: those that were published are skipped.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the disk is full; documents without a receipt are not published.
        DocumentError
            ``limit.document-bytes``
        """
        for group in _groups(documents):
            yield from self._publish(group)

    def publish(self, documents: Iterable[Document]) -> Published:
        """Publish documents; returns how many were new."""
        new = known = 0
        for receipt in self.publish_each(documents):
            new += receipt.new
            known += not receipt.new
        return Published(new, known)

    def republish(
        self, documents: Sequence[tuple[str, Document]], replays: Sequence[tuple[int, bool]]
    ) -> dict[tuple[str, int], Replay]:
        """Publish dead letters again, under given identities and new sequence numbers.

        Parameters
        ----------
        documents
            Documents with their identities.
        replays
            For each document, the sequence number of the dead letter, and whether other bytes are
            published instead.

        Returns
        -------
        The replays, by identity and number of the dead letter; without those that were replayed
        before.
        """
        at = to_microseconds(utc_now())
        done: dict[tuple[str, int], Replay] = {}
        with self._appending() as appender:
            known = set(appender.connection.execute("SELECT identity, replay_of FROM replays"))
            fresh = [
                (document, of, fixed)
                for document, (of, fixed) in zip(documents, replays, strict=True)
                if (document[0], of) not in known
            ]
            first = appender.append(
                [document for document, _, _ in fresh],
                [{"replay_of": of, "fixed": fixed, "at": at} for _, of, fixed in fresh],
            )
            for offset, ((identity, _), of, fixed) in enumerate(fresh):
                done[identity, of] = Replay(first + offset, fixed, from_microseconds(at))
        return done

    def replays(self) -> dict[tuple[str, int], Replay]:
        """The replays of dead letters, by identity and number of the dead letter."""
        with self._index.read_transaction() as connection:
            rows = connection.execute(
                "SELECT identity, replay_of, sequence, fixed, replayed_at FROM replays"
            ).fetchall()
        return {
            (identity, of): Replay(sequence, bool(fixed), from_microseconds(at))
            for identity, of, sequence, fixed, at in rows
        }

    def find(self, name: str) -> Document | None:
        """A document of the inbox by its identity or sequence number, if the journal still has it.

        Documents that are processed stay in the journal until retention removes their file.
        """
        with self._index.read_transaction() as connection:
            last = index.read_position(connection).next - 1
            sequence = index.known_sequences(connection, [name]).get(name)
        if sequence is None and name.isdecimal() and len(name) <= len(str(last)):
            sequence = int(name)
        if sequence is None or not 0 < sequence <= last:
            return None
        (found,) = JournalScanner(self.folder).scan(sequence - 1, sequence, verify=True)
        if isinstance(found, Missing):
            return None
        with JournalFile(found.path) as file:
            row = sequence - found.entry.first
            return _document(file.rows(found.entry).slice(row, 1).to_pylist()[0])[1]

    def documents_after(
        self, sequence: int, *, documents_max: int, bytes_max: int
    ) -> PublishedDocuments:
        """The next documents in publishing order, those that are on disk.

        Parameters
        ----------
        sequence
            The last document that the caller has.
        documents_max, bytes_max
            Bounds; an entry of the journal is read as a whole, so they can be exceeded by one.
        """
        if self._position().next - 1 <= sequence:
            return PublishedDocuments([], sequence, 0)
        upto = min(self.last_sequence(), sequence + documents_max)
        found: list[tuple[int, Document]] = []
        missing = size = 0
        reached = sequence
        for each in JournalScanner(self.folder).scan(sequence, upto, verify=True):
            reached = each.last
            if isinstance(each, Missing):
                missing += each.last - each.first + 1
                continue
            with JournalFile(each.path) as file:
                rows = file.rows(each.entry).slice(each.first - each.entry.first, each.documents)
                for row in rows.to_pylist():
                    found.append((row["sequence"], _identified(*_document(row))))
                    size += len(row["content"])
            if size > bytes_max:
                break
        return PublishedDocuments(found, reached, missing)

    def last_sequence(self) -> int:
        """The sequence number of the last document that is published and on disk."""
        position = self._position()
        # Its publisher may not have flushed it yet. What the pipeline delivers must not be lost in
        # a power failure, or its sequence number would be given again.
        self._sync(position)
        return position.next - 1

    def count_after(self, sequence: int) -> int:
        """The number of documents that wait, if those up to a sequence number are processed.

        Damaged documents wait wherever they are; restored ones wait under their new numbers only.
        """
        with self._index.read_transaction() as connection:
            last = index.read_position(connection).next - 1
            damaged = connection.execute("SELECT first, last, restored FROM damaged").fetchall()
        waiting = max(last - sequence, 0)
        for first, end, is_restored in damaged:
            if is_restored:
                waiting -= max(end - max(first, sequence + 1) + 1, 0)
            else:
                waiting += max(min(end, sequence) - first + 1, 0)
        return waiting

    def recover(self, last_processed: Callable[[], int]) -> None:
        """Complete the work of a process that was killed while publishing.

        Files of older versions are converted, unless they are processed: ``last_processed`` returns
        the sequence number of the last document that is.
        """
        if not self._index.path.exists():
            return  # the database has an older format, which is migrated on opening
        if not is_indexed(self.folder, self._position()):
            with self._appending():
                pass
        if parquet_inbox.parquet_files(self.folder):
            self._convert_parquet(last_processed())

    def _convert_parquet(self, last_processed: int) -> None:
        with self._appending() as appender:
            files = parquet_inbox.parquet_files(self.folder)
            if not files:
                return  # another process has converted them
            ends = [int(path.stem) - 1 for path in files[1:]]
            # Journal files of a conversion that was interrupted have lower numbers.
            converted = [first_sequence(path) for path in journal_files(self.folder)]
            after = min((each for each in converted if each > int(files[-1].stem)), default=None)
            ends.append((appender.position.next if after is None else after) - 1)
            for path, last in zip(files, ends, strict=True):
                if last <= last_processed:
                    path.unlink()
                    continue
                missing = parquet_inbox.convert(path, last, self.damaged_folder)
                if missing is not None:
                    record_damage(appender.connection, missing, self.damaged_folder)
        self._index.sync()

    def count_identities_up_to(self, sequence: int) -> int:
        """The number of stored identities up to a sequence number."""
        with self._index.read_transaction() as connection:
            (count,) = connection.execute(
                "SELECT count(*) FROM published WHERE sequence <= ?", (sequence,)
            ).fetchone()
        return int(count)

    def delete_identities_up_to(self, sequence: int) -> None:
        """Delete identities up to a sequence number: published again, the documents are new."""
        with self._appending() as appender:
            for table in ("published", "replays"):
                appender.connection.execute(f"DELETE FROM {table} WHERE sequence <= ?", (sequence,))

    # Damaged documents.

    def damaged(self) -> list[DamagedDocuments]:
        """The damaged documents that are not restored, in publishing order."""
        with self._index.read_transaction() as connection:
            rows = connection.execute(
                "SELECT file, reason, first, last FROM damaged WHERE NOT restored ORDER BY first"
            ).fetchall()
        return [DamagedDocuments(*row) for row in rows]

    def set_aside(self, after: int, upto: int) -> list[tuple[int, int]]:
        """The parts of a range that are recorded as damaged, restored ones included, in order."""
        with self._index.read_transaction() as connection:
            return connection.execute(
                "SELECT first, last FROM damaged WHERE last > ? AND first <= ? ORDER BY first",
                (after, upto),
            ).fetchall()

    def record_damage(self, missing: Missing) -> None:
        """Record documents as damaged, and keep their file aside."""
        with self._appending() as appender:
            record_damage(appender.connection, missing, self.damaged_folder)
        # The stream does not read these documents again: only the record says that they wait.
        self._index.sync()

    def restored_files(self) -> list[Path]:
        """The files kept aside whose damaged documents are all restored."""
        with self._index.read_transaction() as connection:
            names = connection.execute(
                "SELECT file FROM damaged WHERE file <> '' GROUP BY file HAVING min(restored)"
            ).fetchall()
        paths = [self.damaged_folder / name for (name,) in names]
        return sorted(path for path in paths if path.exists())

    def remove_restored_files(self, files: Iterable[Path]) -> None:
        """Remove files kept aside, except those with documents that were damaged since."""
        with file_lock(self._lock, wait=True):  # no file is kept aside meanwhile
            for path in set(files).intersection(self.restored_files()):
                path.unlink()

    def restore(self, path: Path) -> int:
        """Publish damaged documents again, from an undamaged copy of their file.

        Documents that were published again since are skipped. They get new sequence numbers.

        Returns
        -------
        The number of damaged documents that the file contains.
        """
        restored = 0
        for rows in _intact_rows(path):
            with self._appending() as appender:
                restored += _restore(appender, rows)
        return restored

    # Appending.

    def _publish(self, group: Sequence[Document]) -> list[Receipt]:
        identities = [document.identity for document in group]
        fresh: dict[str, Document] = {}
        with self._appending() as appender:
            known = index.known_sequences(appender.connection, identities)
            for identity, document in zip(identities, group, strict=True):
                if identity not in known:
                    fresh.setdefault(identity, document)
            if fresh:
                first = appender.append(list(fresh.items()))
                known.update({identity: first + offset for offset, identity in enumerate(fresh)})
        logger.info("published %d of %d documents", len(fresh), len(group))
        receipts = []
        for identity in identities:
            # Of two equal documents in a group, only the first is new.
            new = fresh.pop(identity, None) is not None
            receipts.append(Receipt(identity, known[identity], new))
        return receipts

    @contextlib.contextmanager
    def _appending(self) -> Iterator[JournalAppender]:
        """Hold the inbox's lock, with an index that is up to date.

        When the block ends, the journal is on disk; if it raises, nothing was appended.
        """
        with file_lock(self._lock, wait=True):
            appender: JournalAppender | None = None
            try:
                with self._index.write_transaction() as connection:
                    position = catch_up(connection, self.folder, self.damaged_folder)
                    appender = JournalAppender(connection, self.folder, position)
                    yield appender
            except BaseException:
                if appender is not None and self._position() != appender.position:
                    appender.undo()
                raise
            if appender.has_begun_file:
                # Retention may remove the earlier files from now on, which the index could then not
                # be completed from after a power failure.
                self._index.sync()
        self._sync(appender.position)

    def _position(self) -> Position:
        with self._index.read_transaction() as connection:
            return index.read_position(connection)

    def _sync(self, position: Position) -> None:
        """Flush the journal to disk, up to a position."""
        if position.file:
            # Retention removes a file once its documents are in the tables.
            # Some file systems notice only now that the disk is full.
            with contextlib.suppress(FileNotFoundError), full_disk_translated(self.folder):
                sync_file(self.folder / position.file)


def _intact_rows(path: Path) -> Iterator[pa.RecordBatch]:
    """The documents of all intact entries of a file."""
    if path.suffix == ".parquet":
        yield from parquet_inbox.read_parquet(path)
        return
    with JournalFile(path) as file:
        for entry in file.entries():
            if file.is_intact(entry):
                yield file.rows(entry)


def _restore(appender: JournalAppender, rows: pa.RecordBatch) -> int:
    """Append those rows that are damaged documents; returns their number."""
    connection = appender.connection
    damaged: list[tuple[int, int]] = connection.execute(
        "SELECT first, last FROM damaged WHERE NOT restored"
    ).fetchall()
    sequences: list[Any] = rows.column("sequence").to_pylist()
    restored = 0
    for first, last in damaged:
        start, end = max(first, sequences[0]), min(last, sequences[-1])
        if start > end:
            continue
        found = rows.slice(start - sequences[0], end - start + 1).to_pylist()
        known = index.known_sequences(connection, [row["document"] for row in found])
        appender.append([_document(row) for row in found if row["document"] not in known])
        record_restoration(connection, start, end)
        restored += end - start + 1
    return restored


def _document(row: Mapping[str, Any]) -> tuple[str, Document]:
    header = Header(publisher=row["publisher"], schema=row["schema"], fields=dict(row["fields"]))
    return row["document"], Document(row["content"], header)


def _identified(identity: str, document: Document) -> Document:
    """The document with its identity, which the journal has instead of the publisher's id."""
    if document.identity == identity:
        return document
    return Document(document.content, replace(document.header, id=identity.partition("/")[2]))


def _groups(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """The documents in lists of bounded size."""
    group: list[Document] = []
    size = 0
    for document in documents:
        length = len(document.content)
        if length > DOCUMENT_BYTES_MAX:
            raise error(
                "limit.document-bytes",
                f"a document has {length} bytes, more than {DOCUMENT_BYTES_MAX}",
            )
        length = size_with_header(document)
        is_full = size + length > PUBLISHED_AT_ONCE_BYTES or len(group) == PUBLISHED_AT_ONCE_MAX
        if group and is_full:
            yield group
            group, size = [], 0
        group.append(document)
        size += length
    if group:
        yield group
