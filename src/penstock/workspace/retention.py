"""Retention: finds what may be removed from a workspace, and removes it.

Nothing is removed that the next batch, a batch that Spark may replay, the current subscriptions or
a concurrent reader still needs. Files are found and removed without writing anything and without
the database, so that space can be freed on a full disk.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from penstock.errors import IndexFileError, error
from penstock.workspace.batch_records import BatchRecord, BatchRecords
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.delta_rs import DeltaError, DeltaTable
from penstock.workspace.index_versions import files_of
from penstock.workspace.journal import first_sequence, journal_files
from penstock.workspace.layout import WorkspaceLayout
from penstock.workspace.limits import (
    BATCH_RECORD_HOURS,
    LEFTOVER_HOURS,
    LOG_BYTES_MAX,
    OBSOLETE_HOURS,
    PUBLISHED_SEQUENCE_MAX,
    UNCOMMITTED_HOURS,
)
from penstock.workspace.retention_policy import RetentionPolicy
from penstock.workspace.table_reader import last_published, read_rows
from penstock.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Removal:
    """A group of files or rows that may be removed."""

    what: str
    count: int
    bytes: int | None
    """Bytes on disk; ``None`` for rows of a table, whose files are removed later."""
    remove: Callable[[], None]


def removals(workspace: Workspace, *, policy: RetentionPolicy, now: datetime) -> list[Removal]:
    """What may be removed: rows that the policy does not keep, and files that nothing needs.

    Files come first: they are removed without writing, while removing rows needs some free space.
    """
    found = [
        *file_removals(workspace, now=now),
        _restored_files(workspace, now),
        _files("unused index files", _unused_indexes(workspace, now)),
        _files("unused mapping files", _unused_mappings(workspace, now)),
        *_row_removals(workspace, policy, now),
    ]
    return [removal for removal in found if removal.count]


def file_removals(layout: WorkspaceLayout, *, now: datetime) -> list[Removal]:
    """The files that may be removed. The database of the workspace is not needed."""
    tables = layout.tables
    found = [
        _files("processed inbox files", processed_files(layout)),
        _records(layout, now),
        _files("temporary files of interrupted processes", _temporary_files(layout, now)),
        *(
            _files(f"obsolete files of table {name}", _obsolete_files(getattr(tables, name)))
            for name in _TABLES
        ),
        _log(layout.log),
    ]
    return [removal for removal in found if removal.count]


_TABLES = ("documents", "deliveries", "dead_letters", "counts")


def processed_files(layout: WorkspaceLayout) -> list[Path]:
    """The inbox files that are committed to the tables and cannot be replayed any more.

    Spark may replay the last committed batch, because it records the batch in its checkpoint later.
    """
    counts = read_rows(layout.tables.counts, None, ["stream", "batch", "last_sequence"])
    if counts is None or counts.num_rows == 0:
        return []
    last_batches = counts.group_by("stream").aggregate([("batch", "max")])
    joined = counts.join(last_batches, "stream")
    settled = joined.filter(pc.less(joined.column("batch"), joined.column("batch_max")))
    last = last_published(settled)
    if last is None:
        return []
    files = journal_files(layout.inbox_folder)
    # The last file is open for further documents. Damaged documents are in a file kept aside.
    return [
        path
        for path, following in itertools.pairwise(files)
        if first_sequence(following) <= last + 1
    ]


def _restored_files(workspace: Workspace, now: datetime) -> Removal:
    """Inbox files that were kept aside because of damaged documents, which are restored."""
    files = _old(workspace.inbox.restored_files(), now)
    return Removal(
        "damaged inbox files whose documents are restored",
        len(files),
        sum(map(_size, files)),
        partial(workspace.inbox.remove_restored_files, files),
    )


def _row_removals(workspace: Workspace, policy: RetentionPolicy, now: datetime) -> list[Removal]:
    tables = workspace.tables
    found = []
    if policy.documents is not None:
        before = now - policy.documents
        found.append(_rows("documents", tables.documents, "published_at", before))
        found.append(_identities(workspace, before))
    if policy.deliveries is not None:
        before = now - policy.deliveries
        found.append(_rows("deliveries", tables.deliveries, "delivered_at", before))
    if policy.dead_letters is not None:
        before = now - policy.dead_letters
        found.append(_rows("dead letters", tables.dead_letters, "refused_at", before))
    longest = policy.longest()
    if longest is not None:
        before = now - longest
        found.append(_rows("batch counts", tables.counts, "finished_at", before, keep_last=True))
        found.append(_expired(workspace, before))
    return found


def _files(what: str, paths: Iterable[Path]) -> Removal:
    listed = list(paths)
    return Removal(what, len(listed), sum(map(_size, listed)), partial(_remove, listed))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum(_size(each) for each in path.iterdir())
    return path.stat().st_size


def _rows(
    what: str, table: str, column: str, before: datetime, *, keep_last: bool = False
) -> Removal:
    condition = pc.field(column) < pa.scalar(before, pa.timestamp("us", "UTC"))
    predicate = f"{column} < '{before.isoformat()}'"
    if keep_last:
        # The last row states how far the inbox is processed.
        everything = read_rows(table, None, ["batch", "last_sequence"])
        last = None if everything is None else last_published(everything)
        last = 0 if last is None else last
        compute: Any = pc
        condition = condition & (compute.coalesce(pc.field("last_sequence"), -1) != last)
        predicate += f" AND coalesce(last_sequence, -1) <> {last}"
    rows = read_rows(table, condition, [column])
    count = 0 if rows is None else rows.num_rows
    return Removal(what, count, None, lambda: _delete(table, predicate))


def _delete(table: str, predicate: str) -> None:
    try:
        DeltaTable(table).delete(predicate)
    except (DeltaError, OSError) as failure:
        disk_full = os.strerror(errno.ENOSPC)
        if disk_full in str(failure):
            raise error("workspace.full", f"{table}: {disk_full.lower()}") from failure
        raise


def _obsolete_files(table: str) -> list[Path]:
    """Files that the table's current version does not refer to, once no reader needs them.

    They are only listed here: `vacuum` itself would commit to the table, which a full disk
    prevents.
    """
    if not DeltaTable.is_deltatable(table):
        return []
    opened = DeltaTable(table)
    replaced = opened.vacuum(OBSOLETE_HOURS, dry_run=True, enforce_retention_duration=False)
    # `full`: also files that no version ever referred to.
    uncommitted = opened.vacuum(
        UNCOMMITTED_HOURS, dry_run=True, enforce_retention_duration=False, full=True
    )
    paths = {Path(table) / path for path in (*replaced, *uncommitted)}
    # The log names replaced files for some time after their removal.
    return sorted(path for path in paths if path.exists())


def _log(path: Path) -> Removal:
    """The log of Spark's messages, if it is large; it is emptied, because Spark appends to it."""
    size = _size(path) if path.exists() else 0
    is_large = size > LOG_BYTES_MAX
    return Removal("log of Spark's messages", int(is_large), size, partial(os.truncate, path, 0))


def _identities(workspace: Workspace, before: datetime) -> Removal:
    """Identities of documents that the same run removes."""
    condition = pc.field("published_at") < pa.scalar(before, pa.timestamp("us", "UTC"))
    condition = condition & (pc.field("sequence") <= PUBLISHED_SEQUENCE_MAX)
    rows = read_rows(workspace.tables.documents, condition, ["sequence"])
    last = None if rows is None else pc.max(rows.column("sequence")).as_py()
    inbox = workspace.inbox
    count = 0 if last is None else inbox.count_identities_up_to(last)
    return Removal(
        "identities of removed documents",
        count,
        None,
        lambda: inbox.delete_identities_up_to(last or 0),
    )


def _expired(workspace: Workspace, before: datetime) -> Removal:
    ids = workspace.subscriptions.expired(before)
    return Removal(
        "expired subscriptions", len(ids), None, lambda: workspace.subscriptions.remove(ids)
    )


def _unused_indexes(workspace: Workspace, now: datetime) -> list[Path]:
    """Files of versions that are neither the last one nor in the record of a replayable batch."""
    used: set[str] = set()
    recorded = [uri for record in _replayable(workspace) for uri in record.versions]
    last = workspace.last_version()
    for uri in {*recorded, *([] if last is None else [last])}:
        try:
            used.update(files_of(uri))
        except IndexFileError:
            continue  # of an old batch, removed before
    return [path for path in _old(workspace.indexes.iterdir(), now) if path.name not in used]


def _unused_mappings(workspace: Workspace, now: datetime) -> list[Path]:
    """Mapping files that no replayable batch uses; the current one is rewritten on demand."""
    used = {Path(each.mappings).name for each in _replayable(workspace) if each.mappings}
    return [path for path in _old(workspace.mappings.iterdir(), now) if path.name not in used]


def _replayable(layout: WorkspaceLayout) -> list[BatchRecord]:
    """The records of batches that are not committed or that Spark may replay."""
    return [
        record
        for records, last in _recorded_streams(layout)
        for record in records.all()
        if record.batch >= last
    ]


def _records(layout: WorkspaceLayout, now: datetime) -> Removal:
    """Records of committed batches that Spark will not replay, and that are not recent."""
    recent = now - timedelta(hours=BATCH_RECORD_HOURS)
    removable = [
        (records, record)
        for records, last in _recorded_streams(layout)
        for record in records.all()
        if record.batch < last and record.at < recent
    ]

    def delete() -> None:
        for records, record in removable:
            records.delete(record.batch)

    return Removal("records of committed batches", len(removable), None, delete)


def _recorded_streams(layout: WorkspaceLayout) -> list[tuple[BatchRecords, int]]:
    """The records of each stream, with the stream's last committed batch."""
    counts = layout.tables.counts
    if not DeltaTable.is_deltatable(counts):
        return []
    found = []
    for folder in sorted(layout.batches.iterdir()):
        last = last_committed_batch(counts, folder.name)
        records = BatchRecords(str(layout.batches), folder.name)
        found.append((records, 0 if last is None else last))
    return found


def _temporary_files(layout: WorkspaceLayout, now: datetime) -> list[Path]:
    """Temporary files that were never renamed."""
    return [
        *_old(layout.checkpoints.rglob("*.tmp"), now),
        *_old(layout.batches.rglob("*.part"), now),
        *_old(layout.inbox_folder.glob("*.part"), now),
        *_old(layout.path.glob("*.part"), now),
    ]


def _old(paths: Iterable[Path], now: datetime) -> list[Path]:
    latest = (now - timedelta(hours=LEFTOVER_HOURS)).timestamp()
    return sorted(path for path in paths if path.stat().st_mtime < latest)
