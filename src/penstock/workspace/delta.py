"""Delta tables with exactly-once batch commits: write Parquet files first, then commit them.

Writers create Parquet files under unique names, which no reader sees. One *commit* per batch then
adds the files to the table, together with an application transaction (stream, batch number). When
a batch is replayed, its transaction is found and nothing is added. Files of failed attempts are
never added; vacuum removes them.
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
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSystem, LocalFileSystem, SubTreeFileSystem

from penstock.workspace.delta_rs import (
    AddAction,
    CommitProperties,
    DeltaTable,
    RemoveAction,
    Schema,
    Transaction,
)
from penstock.workspace.limits import OBSOLETE_HOURS, REPLACED_FILES_HOURS

if TYPE_CHECKING:
    # Imports pandas, which most commands do not need.
    import pyarrow.dataset as ds

Codec: TypeAlias = Literal["zstd", "snappy", "none"]
"""Compression of Parquet files. Snappy writes small row groups in about half the time that zstd
takes, and the files are half as large again."""

RECENT_PREFIX: Final = "recent-"
"""What the names of files with recent documents begin with: see
:mod:`penstock.workspace.recent_documents`."""

CONTENT: Final = "content"
"""The column with the bytes of documents."""

FILE_BYTES_MAX: Final = 256 << 20
"""Bytes of rows after which a writer starts the next file."""

ROW_GROUP_BYTES: Final = 256 << 10
"""Bytes of rows in a row group, which is the unit of reading: opening a document reads one."""

RECENT_GROUP_BYTES: Final = 1 << 20
"""Bytes of rows in a row group of recent documents, which are not compressed. Larger than others,
because writing many small ones takes longer."""

COMMIT_RETRIES_MAX: Final = 100
"""Retries of a commit that conflicts with a concurrent writer."""

TABLE_PROPERTIES: Final = {
    "delta.logRetentionDuration": f"interval {OBSOLETE_HOURS} hours",
    "delta.deletedFileRetentionDuration": f"interval {REPLACED_FILES_HOURS} hours",
}
"""Properties of all tables. Every batch adds an entry to a table's log; the default retention of 30
days would leave millions, which every reader lists."""


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A Parquet file that is not committed yet."""

    path: str
    """Relative to the table."""

    size: int
    rows: int
    partition: dict[str, str]
    statistics: dict[str, Any] | None = None
    """Statistics of the columns for the table's log: see
    :mod:`penstock.workspace.file_statistics`."""

    def as_dict(self) -> dict[str, Any]:
        """The fields as JSON-serialisable values."""
        return asdict(self)

    def add_action(self, *, data_change: bool = True) -> AddAction:
        """The Delta action that adds the file to a table."""
        # If only some columns have statistics, delta-rs treats the others as null and loses rows.
        # Without any, readers still skip row groups by the statistics in the Parquet files.
        stats = {"numRecords": self.rows, **(self.statistics or {})}
        return AddAction(
            path=self.path,
            size=self.size,
            partition_values=self.partition,
            modification_time=int(time.time() * 1000),
            data_change=data_change,
            # delta-rs reads escaped surrogate pairs as other characters.
            stats=json.dumps(stats, ensure_ascii=False),
        )


class TableWriter:
    """Writes rows of one table to Parquet files, buffering at most one row group.

    Parameters
    ----------
    table
        The table's URI or path.
    schema
        Its columns.
    partition
        The values of the partition columns, which are not stored in the files.
    codec
        The compression; that of documents' bytes is always zstd, unless they are recent.
    recent
        Whether the rows are recent documents, whose bytes are not compressed.
    """

    def __init__(
        self,
        table: str,
        schema: pa.Schema,
        *,
        partition: Mapping[str, str] | None = None,
        codec: Codec = "zstd",
        recent: bool = False,
    ) -> None:
        self._codec: Codec = codec
        self._recent = recent
        self._filesystem, self._root = resolve_filesystem(table)
        self._partition = dict(partition or {})
        self._columns = [name for name in schema.names if name not in self._partition]
        self._schema = pa.schema([schema.field(name) for name in self._columns])
        self._open: _OpenFile | None = None
        self._finished: list[WrittenFile] = []

    def write(self, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows; columns that the table does not have are dropped."""
        if rows.num_rows == 0:
            return
        if self._open is None:
            self._open = _OpenFile(
                self._filesystem,
                self._root,
                self._partition,
                self._schema,
                codec=self._codec,
                recent=self._recent,
            )
        table = pa.table({name: rows.column(name) for name in self._columns})
        self._open.write(table.cast(self._schema))
        if self._open.bytes > FILE_BYTES_MAX:
            self._finish()

    def close(self) -> list[WrittenFile]:
        """Finish the last file; returns all files written."""
        self._finish()
        return self._finished

    def _finish(self) -> None:
        if self._open is not None:
            self._finished.append(self._open.close())
            self._open = None


class _OpenFile:
    """A file being written."""

    def __init__(
        self,
        filesystem: FileSystem,
        root: str,
        partition: dict[str, str],
        schema: pa.Schema,
        *,
        codec: Codec,
        recent: bool,
    ) -> None:
        folder = "/".join(f"{name}={value}" for name, value in partition.items())
        prefix = RECENT_PREFIX if recent else "part-"
        self._partition = partition
        self._group_bytes = RECENT_GROUP_BYTES if recent else ROW_GROUP_BYTES
        self._path = posixpath.join(folder, f"{prefix}{uuid.uuid4().hex}.parquet")
        self._full_path = posixpath.join(root, self._path)
        self._filesystem = filesystem
        filesystem.create_dir(posixpath.dirname(self._full_path), recursive=True)
        has_content = CONTENT in schema.names
        compression: Any = _codecs(schema, "none" if recent else "zstd") if has_content else codec
        self._writer = pq.ParquetWriter(
            self._full_path,
            schema,
            filesystem=filesystem,
            compression=compression,
            # A row group has about ten documents of 20 kB: too few for dictionaries.
            use_dictionary=not has_content,
            # Statistics of the documents' bytes would cost time and never help.
            write_statistics=[name for name in schema.names if name != CONTENT],
        )
        self._rows = 0
        self.bytes = 0

    def write(self, rows: pa.Table) -> None:
        rows_per_group = max(1, rows.num_rows * self._group_bytes // max(1, rows.nbytes))
        self._writer.write_table(rows, row_group_size=rows_per_group)
        self._rows += rows.num_rows
        self.bytes += rows.nbytes

    def close(self) -> WrittenFile:
        self._writer.close()
        if isinstance(self._filesystem, LocalFileSystem):
            _fsync(self._full_path)
        size = self._filesystem.get_file_info(self._full_path).size
        assert size is not None, "a file that was just written has a size"
        return WrittenFile(self._path, size, self._rows, self._partition)


def _codecs(schema: pa.Schema, of_content: Codec) -> dict[str, Codec]:
    """The compression of each column of a table with documents.

    Arrow creates a zstd context for each page. For the other columns, which have some hundred bytes
    in a row group, this takes longer than writing them.
    """
    codecs: dict[str, Codec] = {}
    for field in schema:
        is_map = pa.types.is_map(field.type)
        leaves = [".key_value.key", ".key_value.value"] if is_map else [""]
        for leaf in leaves:
            codecs[field.name + leaf] = of_content if field.name == CONTENT else "snappy"
    return codecs


def _fsync(path: str) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def resolve_filesystem(uri: str) -> tuple[FileSystem, str]:
    """The file system of a URI or plain path, and the path in it."""
    if "://" in uri:
        return FileSystem.from_uri(uri)
    return LocalFileSystem(), os.path.abspath(uri)


def open_dataset(table: str) -> ds.Dataset:
    """The latest version of a table as an Arrow dataset.

    Uses Arrow's own file systems. Arrow's threads call back into Python for delta-rs's file system,
    and abort the process if the interpreter shuts down during such a call.
    """
    filesystem, root = resolve_filesystem(table)
    return DeltaTable(table).to_pyarrow_dataset(filesystem=SubTreeFileSystem(root, filesystem))


def create_table(table: str, schema: pa.Schema, *, partition_by: Sequence[str] = ()) -> None:
    """Create an empty table if there is none, or add the columns that an existing one lacks."""
    if DeltaTable.is_deltatable(table):
        opened = DeltaTable(table)
        _add_columns(opened, schema)
        _set_properties(opened)
        return
    if "://" not in table:
        os.makedirs(table, exist_ok=True)
    DeltaTable.create(
        table,
        schema,
        mode="ignore",
        partition_by=list(partition_by),
        configuration=TABLE_PROPERTIES,
    )


def _add_columns(table: DeltaTable, schema: pa.Schema) -> None:
    known = {field.name for field in table.schema().fields}
    missing = [field for field in Schema.from_arrow(schema).fields if field.name not in known]
    if missing:
        table.alter.add_columns(missing)


def _set_properties(table: DeltaTable) -> None:
    """Set the properties of a table that an older version of Penstock created."""
    if not TABLE_PROPERTIES.items() <= table.metadata().configuration.items():
        table.alter.set_table_properties(TABLE_PROPERTIES)


def last_committed_batch(table: str, stream: str) -> int | None:
    """The last batch of a stream that was committed to a table."""
    return DeltaTable(table).transaction_version(stream)


def commit_batch(
    table: str,
    files: Iterable[WrittenFile],
    *,
    stream: str,
    batch: int,
    also: Mapping[str, int] | None = None,
    opened: DeltaTable | None = None,
) -> bool:
    """Commit the files of a batch unless it was committed before; whether it was committed now.

    The batches of a stream must be committed in ascending order. ``also`` has the versions of
    further application transactions. A concurrent commit that sets one of them too is a conflict,
    which raises :class:`deltalake.exceptions.CommitFailedError`. ``opened`` is the table, if the
    caller has opened it.
    """
    if opened is None:
        opened = DeltaTable(table)
    last = opened.transaction_version(stream)
    if last is not None and batch <= last:
        return False
    opened.create_write_transaction(
        [file.add_action() for file in files],
        "append",
        opened.schema(),
        list(opened.metadata().partition_columns),
        commit_properties=CommitProperties(
            max_commit_retries=COMMIT_RETRIES_MAX,
            app_transactions=[
                Transaction(name, version, _now_ms())
                for name, version in {stream: batch, **(also or {})}.items()
            ],
        ),
    )
    _sync_log(table)
    return True


def replace_files(
    opened: DeltaTable, removed: Iterable[RemoveAction], added: Iterable[WrittenFile]
) -> None:
    """Replace files of a table by others with the same rows, in one commit.

    Raises
    ------
    CommitFailedError
        Another process has removed one of the files since the table was opened.
    """
    opened.create_write_transaction(
        [*removed, *(file.add_action(data_change=False) for file in added)],
        "append",
        opened.schema(),
        list(opened.metadata().partition_columns),
        commit_properties=CommitProperties(max_commit_retries=COMMIT_RETRIES_MAX),
    )
    _sync_log(opened.table_uri)


def _sync_log(table: str) -> None:
    """Flush the last commit of a local table to disk.

    delta-rs does not fsync. After a power failure Spark's checkpoint might name a batch as done
    whose commit is lost.
    """
    filesystem, root = resolve_filesystem(table)
    if isinstance(filesystem, LocalFileSystem):
        log = os.path.join(root, "_delta_log")
        last = max(name for name in os.listdir(log) if name.endswith(".json"))
        _fsync(os.path.join(log, last))
        _fsync(log)


def _now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)
