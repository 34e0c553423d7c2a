"""What may be removed from a workspace: looked up first, removed when someone agreed.

Nothing is removed that is still needed: by the next batch, by a batch that Spark may replay, by the
current subscriptions, or by a reader who began before.
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
from penstock.workspace.delta import last_batch
from penstock.workspace.index_versions import files_of
from penstock.workspace.limits import LEFTOVER_HOURS
from penstock.workspace.table_reader import rows_of
from penstock.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Removal:
    """Something that may be removed."""

    what: str
    count: int
    bytes: int | None
    """On the disk; ``None`` for rows of a table, whose files go later."""
    remove: Callable[[], None]


def removals(workspace: Workspace, *, keep: timedelta, now: datetime) -> list[Removal]:
    """What may be removed, of what is older than ``keep``.

    Files that the pipeline is through with are removed whatever their age.
    """
    before = now - keep
    tables = workspace.tables
    found = [
        _files("inbox files that are processed", processed_files(workspace)),
        _rows("documents", tables.documents, "published_at", before),
        _rows("deliveries", tables.deliveries, "delivered_at", before),
        _rows("dead letters", tables.dead_letters, "refused_at", before),
        _rows("counts of batches", tables.counts, "finished_at", before, keep_last=True),
        _identities(workspace, before),
        _expired(workspace, before),
        _records(workspace),
        _files("index files that nothing uses", _unused_indexes(workspace, now)),
        _files("mappings that nothing uses", _unused_mappings(workspace, now)),
        _files("leftovers of interrupted work", _leftovers(workspace, now)),
        *(_vacuum(name, getattr(tables, name)) for name in _TABLES),
    ]
    return [removal for removal in found if removal.count]


_TABLES = ("documents", "deliveries", "dead_letters", "counts")


def processed_files(workspace: Workspace) -> list[Path]:
    """The inbox files whose documents are in the tables, but for those that may be replayed.

    Spark may replay the last batch that was committed, since its own note of it comes later.
    """
    counts = rows_of(workspace.tables.counts, None, ["stream", "batch", "last_sequence"])
    if counts is None or counts.num_rows == 0:
        return []
    last_of = counts.group_by("stream").aggregate([("batch", "max")])
    joined = counts.join(last_of, "stream")
    settled = joined.filter(pc.less(joined.column("batch"), joined.column("batch_max")))
    last: int | None = pc.max(settled.column("last_sequence")).as_py()
    if last is None:
        return []
    there = _sequences_up_to(workspace, last)
    done = []
    for path in sorted(workspace.inbox.folder.glob("*.parquet")):
        first = int(path.stem)
        end = first + pq.read_metadata(path).num_rows
        # Its batch is committed, and did have this file.
        if end <= last + 1 and not there.isdisjoint(range(first, end)):
            done.append(path)
    return done


def _sequences_up_to(workspace: Workspace, last: int) -> set[int]:
    found: set[int] = set()
    for table in (workspace.tables.documents, workspace.tables.dead_letters):
        rows = rows_of(table, pc.field("sequence") <= last, ["sequence"])
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
    where = pc.field(column) < pa.scalar(before, pa.timestamp("us", "UTC"))
    condition = f"{column} < '{before.isoformat()}'"
    if keep_last:
        # How far the inbox is processed stands in the last of them.
        everything = rows_of(table, None, ["batch", "last_sequence"])
        last = None if everything is None else pc.max(everything.column("last_sequence")).as_py()
        last = 0 if last is None else last
        where = where & (pc.field("last_sequence") < last)
        condition += f" AND last_sequence < {last}"
    rows = rows_of(table, where, [column])
    count = 0 if rows is None else rows.num_rows
    return Removal(what, count, None, lambda: _delete(table, condition))


def _delete(table: str, condition: str) -> None:
    DeltaTable(table).delete(condition)


def _vacuum(name: str, table: str) -> Removal:
    """Files of a table that no version of the last week has."""
    paths: list[Path] = []
    if DeltaTable.is_deltatable(table):
        # `full`: also what tasks wrote that failed, which no version ever had.
        unused = DeltaTable(table).vacuum(dry_run=True, full=True)
        paths = [Path(table) / path for path in unused]

    def vacuum() -> None:
        DeltaTable(table).vacuum(dry_run=False, full=True)
        DeltaTable(table).cleanup_metadata()

    size = sum(_size(path) for path in paths if path.exists())
    return Removal(f"old files of the table {name}", len(paths), size, vacuum)


def _identities(workspace: Workspace, before: datetime) -> Removal:
    """Documents that would be known if they were published again."""
    where = pc.field("published_at") < pa.scalar(before, pa.timestamp("us", "UTC"))
    rows = rows_of(workspace.tables.documents, where, ["sequence"])
    last = None if rows is None else pc.max(rows.column("sequence")).as_py()
    inbox = workspace.inbox
    count = 0 if last is None else inbox.known_up_to(last)
    return Removal(
        "identities of removed documents", count, None, lambda: inbox.forget_up_to(last or 0)
    )


def _expired(workspace: Workspace, before: datetime) -> Removal:
    ids = workspace.subscriptions.expired(before)
    return Removal(
        "expired subscriptions", len(ids), None, lambda: workspace.subscriptions.remove(ids)
    )


def _unused_indexes(workspace: Workspace, now: datetime) -> list[Path]:
    """Files of versions that are neither current nor recorded for a batch."""
    used: set[str] = set()
    recorded = [uri for record in _to_be_replayed(workspace) for uri in record.versions]
    for uri in {workspace.current_version(), *recorded}:
        try:
            used.update(files_of(uri))
        except IndexFileError:
            continue  # of a batch long ago, and gone
    return [path for path in _old(workspace.indexes.iterdir(), now) if path.name not in used]


def _unused_mappings(workspace: Workspace, now: datetime) -> list[Path]:
    """Files of mappings that no batch may ask for again; a current one is written when need be."""
    used = {Path(each.mappings).name for each in _to_be_replayed(workspace) if each.mappings}
    return [path for path in _old(workspace.mappings.iterdir(), now) if path.name not in used]


def _to_be_replayed(workspace: Workspace) -> list[BatchRecord]:
    """The records of batches that are not committed, or that Spark may replay."""
    return [
        record
        for records, last in _recorded_streams(workspace)
        for record in records.all()
        if record.batch >= last
    ]


def _records(workspace: Workspace) -> Removal:
    """Records of batches that are committed, and that Spark will not replay."""
    streams = _recorded_streams(workspace)
    count = sum(record.batch < last for records, last in streams for record in records.all())

    def forget() -> None:
        for records, last in streams:
            records.forget_before(last)

    return Removal("records of committed batches", count, None, forget)


def _recorded_streams(workspace: Workspace) -> list[tuple[BatchRecords, int]]:
    """The records of each stream, with the last batch of it that is committed."""
    counts = workspace.tables.counts
    if not DeltaTable.is_deltatable(counts):
        return []
    found = []
    for folder in sorted(workspace.batches.iterdir()):
        last = last_batch(counts, folder.name)
        records = BatchRecords(str(workspace.batches), folder.name)
        found.append((records, 0 if last is None else last))
    return found


def _leftovers(workspace: Workspace, now: datetime) -> list[Path]:
    """Files that were to be renamed, and of which nobody knows any more."""
    return [
        *_old(workspace.checkpoints.rglob("*.tmp"), now),
        *_old(workspace.batches.rglob("*.part"), now),
    ]


def _old(paths: Iterable[Path], now: datetime) -> list[Path]:
    latest = (now - timedelta(hours=LEFTOVER_HOURS)).timestamp()
    return sorted(path for path in paths if path.stat().st_mtime < latest)
