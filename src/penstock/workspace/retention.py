"""Retention: finds what may be removed from a workspace, for removal after confirmation.

Nothing is removed that the next batch, a batch that Spark may replay, the current subscriptions or
a concurrent reader still needs.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable

from penstock.errors import IndexFileError
from penstock.workspace.batch_records import BatchRecord, BatchRecords
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.index_versions import files_of
from penstock.workspace.limits import LEFTOVER_HOURS
from penstock.workspace.table_reader import read_rows
from penstock.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Removal:
    """A group of files or rows that may be removed."""

    what: str
    count: int
    bytes: int | None
    """Bytes on disk; ``None`` for rows of a table, whose files are vacuumed later."""
    remove: Callable[[], None]


def removals(workspace: Workspace, *, keep: timedelta, now: datetime) -> list[Removal]:
    """What may be removed: data older than ``keep``, and files that are no longer needed."""
    before = now - keep
    tables = workspace.tables
    found = [
        _files("processed inbox files", processed_files(workspace)),
        _rows("documents", tables.documents, "published_at", before),
        _rows("deliveries", tables.deliveries, "delivered_at", before),
        _rows("dead letters", tables.dead_letters, "refused_at", before),
        _rows("batch counts", tables.counts, "finished_at", before, keep_last=True),
        _identities(workspace, before),
        _expired(workspace, before),
        _records(workspace),
        _files("unused index files", _unused_indexes(workspace, now)),
        _files("unused mapping files", _unused_mappings(workspace, now)),
        _files("temporary files of interrupted processes", _temporary_files(workspace, now)),
        *(_vacuum(name, getattr(tables, name)) for name in _TABLES),
    ]
    return [removal for removal in found if removal.count]


_TABLES = ("documents", "deliveries", "dead_letters", "counts")


def processed_files(workspace: Workspace) -> list[Path]:
    """The inbox files that are committed to the tables and cannot be replayed any more.

    Spark may replay the last committed batch, because it records the batch in its checkpoint later.
    """
    counts = read_rows(workspace.tables.counts, None, ["stream", "batch", "last_sequence"])
    if counts is None or counts.num_rows == 0:
        return []
    last_batches = counts.group_by("stream").aggregate([("batch", "max")])
    joined = counts.join(last_batches, "stream")
    settled = joined.filter(pc.less(joined.column("batch"), joined.column("batch_max")))
    last: int | None = pc.max(settled.column("last_sequence")).as_py()
    if last is None:
        return []
    committed = _sequences_up_to(workspace, last)
    processed = []
    for path in sorted(workspace.inbox.folder.glob("*.parquet")):
        first = int(path.stem)
        end = first + pq.read_metadata(path).num_rows
        # Its batch is committed, and did contain this file.
        if end <= last + 1 and not committed.isdisjoint(range(first, end)):
            processed.append(path)
    return processed


def _sequences_up_to(workspace: Workspace, last: int) -> set[int]:
    found: set[int] = set()
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        rows = read_rows(table, pc.field("sequence") <= last, ["sequence"])
        if rows is not None:
            found.update(row["sequence"] for row in rows.to_pylist())
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
        last = None if everything is None else pc.max(everything.column("last_sequence")).as_py()
        last = 0 if last is None else last
        condition = condition & (pc.field("last_sequence") < last)
        predicate += f" AND last_sequence < {last}"
    rows = read_rows(table, condition, [column])
    count = 0 if rows is None else rows.num_rows
    return Removal(what, count, None, lambda: _delete(table, predicate))


def _delete(table: str, predicate: str) -> None:
    DeltaTable(table).delete(predicate)


def _vacuum(name: str, table: str) -> Removal:
    """Files that no table version of the last week refers to."""
    paths: list[Path] = []
    if DeltaTable.is_deltatable(table):
        # `full`: also the files of failed tasks, which no version ever referred to.
        unused = DeltaTable(table).vacuum(dry_run=True, full=True)
        paths = [Path(table) / path for path in unused]

    def vacuum() -> None:
        DeltaTable(table).vacuum(dry_run=False, full=True)
        DeltaTable(table).cleanup_metadata()

    size = sum(_size(path) for path in paths if path.exists())
    return Removal(f"obsolete files of table {name}", len(paths), size, vacuum)


def _identities(workspace: Workspace, before: datetime) -> Removal:
    """Identities of documents that the same run removes."""
    condition = pc.field("published_at") < pa.scalar(before, pa.timestamp("us", "UTC"))
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
    """Files of versions that are neither current nor in the record of a replayable batch."""
    used: set[str] = set()
    recorded = [uri for record in _replayable(workspace) for uri in record.versions]
    for uri in {workspace.current_version(), *recorded}:
        try:
            used.update(files_of(uri))
        except IndexFileError:
            continue  # of an old batch, removed before
    return [path for path in _old(workspace.indexes.iterdir(), now) if path.name not in used]


def _unused_mappings(workspace: Workspace, now: datetime) -> list[Path]:
    """Mapping files that no replayable batch uses; the current one is rewritten on demand."""
    used = {Path(each.mappings).name for each in _replayable(workspace) if each.mappings}
    return [path for path in _old(workspace.mappings.iterdir(), now) if path.name not in used]


def _replayable(workspace: Workspace) -> list[BatchRecord]:
    """The records of batches that are not committed or that Spark may replay."""
    return [
        record
        for records, last in _recorded_streams(workspace)
        for record in records.all()
        if record.batch >= last
    ]


def _records(workspace: Workspace) -> Removal:
    """Records of committed batches that Spark will not replay."""
    streams = _recorded_streams(workspace)
    count = sum(record.batch < last for records, last in streams for record in records.all())

    def delete() -> None:
        for records, last in streams:
            records.delete_before(last)

    return Removal("records of committed batches", count, None, delete)


def _recorded_streams(workspace: Workspace) -> list[tuple[BatchRecords, int]]:
    """The records of each stream, with the stream's last committed batch."""
    counts = workspace.tables.counts
    if not DeltaTable.is_deltatable(counts):
        return []
    found = []
    for folder in sorted(workspace.batches.iterdir()):
        last = last_committed_batch(counts, folder.name)
        records = BatchRecords(str(workspace.batches), folder.name)
        found.append((records, 0 if last is None else last))
    return found


def _temporary_files(workspace: Workspace, now: datetime) -> list[Path]:
    """Temporary files that were never renamed."""
    return [
        *_old(workspace.checkpoints.rglob("*.tmp"), now),
        *_old(workspace.batches.rglob("*.part"), now),
    ]


def _old(paths: Iterable[Path], now: datetime) -> list[Path]:
    latest = (now - timedelta(hours=LEFTOVER_HOURS)).timestamp()
    return sorted(path for path in paths if path.stat().st_mtime < latest)
