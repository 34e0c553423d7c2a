"""Delta tables: files first, then one commit that makes them visible, once.

Whoever writes rows writes Parquet files under names of its own; nobody sees them yet. One *commit*
of a batch then adds them to the table, together with the mark that this batch of this stream is
in. A batch that is replayed finds its mark and adds nothing; files of attempts that failed are
never added, and vacuuming removes them.
"""

from __future__ import annotations

import json
import os
import posixpath
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.transaction import AddAction
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

if TYPE_CHECKING:
    # It imports pandas, and most commands read no table.
    import pyarrow.dataset as ds

FILE_BYTES_MAX: Final = 256 << 20
"""A writer starts another file past so many bytes of rows."""

COMMIT_RETRIES_MAX: Final = 100
"""How often a commit is tried again because another writer was faster."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that waits for its commit."""

    path: str
    """Relative to the table."""

    size: int
    rows: int
    partition: dict[str, str]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, which can travel as JSON."""
        return asdict(self)

    def _action(self) -> AddAction:
        # No bounds of columns: given for some, delta-rs's readers take the others for null and lose
        # rows. Parquet's own, in the files, let them skip what a query does not want.
        stats = {"numRecords": self.rows}
        return AddAction(
            path=self.path,
            size=self.size,
            partition_values=self.partition,
            modification_time=int(time.time() * 1000),
            data_change=True,
            stats=json.dumps(stats),
        )


class TableWriter:
    """Writes rows of one table as they come, holding no more than one group of them.

    Parameters
    ----------
    table
        The table's URI or path.
    schema
        Its columns.
    partition
        The values of the partition columns, which are not written into the files.
    """

    def __init__(
        self,
        table: str,
        schema: pa.Schema,
        *,
        partition: Mapping[str, str] | None = None,
    ) -> None:
        self._filesystem, self._root = filesystem_of(table)
        self._partition = dict(partition or {})
        self._columns = [name for name in schema.names if name not in self._partition]
        self._schema = pa.schema([schema.field(name) for name in self._columns])
        self._open: _OpenFile | None = None
        self._finished: list[WrittenFile] = []

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows; columns that the table does not have are left out."""
        if rows.num_rows == 0:
            return
        if self._open is None:
            self._open = _OpenFile(self._filesystem, self._root, self._partition, self._schema)
        table = pa.table({name: rows.column(name) for name in self._columns})
        self._open.write(table.cast(self._schema))
        if self._open.bytes > FILE_BYTES_MAX:
            self._finish()

    def close(self) -> list[WrittenFile]:
        """Finish the last file; all that were written."""
        self._finish()
        return self._finished

    def _finish(self) -> None:
        if self._open is not None:
            self._finished.append(self._open.close())
            self._open = None


class _OpenFile:
    """A file being written."""

    def __init__(
        self, filesystem: FileSystem, root: str, partition: dict[str, str], schema: pa.Schema
    ) -> None:
        folder = "/".join(f"{name}={value}" for name, value in partition.items())
        self._partition = partition
        self._path = posixpath.join(folder, f"part-{uuid.uuid4().hex}.parquet")
        self._full_path = posixpath.join(root, self._path)
        self._filesystem = filesystem
        filesystem.create_dir(posixpath.dirname(self._full_path), recursive=True)
        self._writer = pq.ParquetWriter(
            self._full_path, schema, filesystem=filesystem, compression="zstd"
        )
        self._rows = 0
        self.bytes = 0

    def write(self, rows: pa.Table) -> None:
        self._writer.write_table(rows)
        self._rows += rows.num_rows
        self.bytes += rows.nbytes

    def close(self) -> WrittenFile:
        self._writer.close()
        if isinstance(self._filesystem, LocalFileSystem):
            _to_disk(self._full_path)
        size = self._filesystem.get_file_info(self._full_path).size
        assert size is not None, "a file that was just written has a size"
        return WrittenFile(self._path, size, self._rows, self._partition)


def _to_disk(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def filesystem_of(uri: str) -> tuple[FileSystem, str]:
    """Where a URI or a plain path leads."""
    if "://" in uri:
        return FileSystem.from_uri(uri)
    return LocalFileSystem(), os.path.abspath(uri)


def dataset_of(table: str) -> ds.Dataset:
    """A table as it is now, for Arrow to read.

    By Arrow's own filesystems: delta-rs's is called back in Python by Arrow's threads, which may
    still be at it when the interpreter ends, and then abort the whole process.
    """
    filesystem, root = filesystem_of(table)
    return DeltaTable(table).to_pyarrow_dataset(filesystem=SubTreeFileSystem(root, filesystem))


def create_table(table: str, schema: pa.Schema, *, partition_by: Sequence[str] = ()) -> None:
    """Make an empty table where there is none; add the columns that one of before lacks."""
    if DeltaTable.is_deltatable(table):
        _add_columns(DeltaTable(table), schema)
        return
    if "://" not in table:
        os.makedirs(table, exist_ok=True)
    DeltaTable.create(table, schema, mode="ignore", partition_by=list(partition_by))


def _add_columns(table: DeltaTable, schema: pa.Schema) -> None:
    known = {field.name for field in table.schema().fields}
    missing = [field for field in Schema.from_arrow(schema).fields if field.name not in known]
    if missing:
        table.alter.add_columns(missing)


def last_batch(table: str, stream: str) -> int | None:
    """The last batch of a stream that was committed."""
    return DeltaTable(table).transaction_version(stream)


def commit_batch(table: str, files: Iterable[WrittenFile], *, stream: str, batch: int) -> bool:
    """Add the files of a batch, unless it was committed before; whether it was added now.

    Batches of a stream are committed in ascending order.
    """
    last = last_batch(table, stream)
    if last is not None and batch <= last:
        return False
    opened = DeltaTable(table)
    opened.create_write_transaction(
        [file._action() for file in files],
        "append",
        opened.schema(),
        list(opened.metadata().partition_columns),
        commit_properties=CommitProperties(
            max_commit_retries=COMMIT_RETRIES_MAX,
            app_transactions=[Transaction(stream, batch, _now_ms())],
        ),
    )
    _log_to_disk(table)
    return True


def _log_to_disk(table: str) -> None:
    """See to it that the last commit outlives a power cut, on a disk of this machine.

    delta-rs leaves it to the system when. Spark may then remember that a batch is done whose commit
    is lost.
    """
    filesystem, root = filesystem_of(table)
    if isinstance(filesystem, LocalFileSystem):
        log = os.path.join(root, "_delta_log")
        last = max(name for name in os.listdir(log) if name.endswith(".json"))
        _to_disk(os.path.join(log, last))
        _to_disk(log)


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)
