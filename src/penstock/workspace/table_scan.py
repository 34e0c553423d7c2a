"""Reads a few rows of a large Delta table, by the statistics of its row groups.

Files of the tables have small row groups, and their rows are clustered: deliveries by subscriber,
documents by sequence number. A scan decodes only the row groups whose statistics do not exclude
them, a few rows at a time. It needs neither Arrow's dataset package, which imports pandas, nor its
comparisons, which do not support the strings of files that delta-rs has rewritten.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.workspace.arrow_values import integer_array, string_array
from penstock.workspace.delta import resolve_filesystem
from penstock.workspace.delta_rs import DeltaTable

ROWS_AT_ONCE: Final = 1024
"""Rows that a scan decodes at a time, if they are small."""

BYTES_AT_ONCE: Final = 4 << 20
"""About how many bytes of rows a scan decodes at a time; a larger row is decoded by itself."""


@dataclass(frozen=True, slots=True)
class OneOf:
    """Selects the rows whose value in a column of strings or integers is one of some values."""

    column: str
    values: Sequence[Any]
    """Sorted."""

    def may_be_within(self, smallest: Any, largest: Any) -> bool:  # noqa: ANN401
        """Whether a row of a file or row group with these statistics may be selected."""
        first = bisect_left(self.values, smallest)
        return first < len(self.values) and self.values[first] <= largest

    def selects(self, rows: pa.Table) -> pa.ChunkedArray[Any]:
        """Which rows are selected."""
        column = rows.column(self.column)
        compute: Any = pc
        is_text = pa.types.is_string(column.type)
        values = string_array(self.values) if is_text else integer_array(self.values)
        selected: pa.ChunkedArray[Any] = compute.is_in(column, value_set=values)
        return selected


@dataclass(frozen=True, slots=True)
class GreaterThan:
    """Selects the rows whose value in a column is greater than some value."""

    column: str
    value: int

    def may_be_within(self, smallest: Any, largest: Any) -> bool:  # noqa: ANN401
        """Whether a row of a file or row group with these statistics may be selected."""
        return bool(largest > self.value)

    def selects(self, rows: pa.Table) -> pa.ChunkedArray[Any]:
        """Which rows are selected."""
        compute: Any = pc
        value = integer_array([self.value])[0]
        selected: pa.ChunkedArray[Any] = compute.greater(rows.column(self.column), value)
        return selected


Condition = OneOf | GreaterThan


def scan(
    table: str,
    schema: pa.Schema,
    conditions: Sequence[Condition],
    *,
    partitions: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[pa.Table]:
    """The rows of a table that meet all conditions; none if the table does not exist.

    Parameters
    ----------
    table
        The table's URI or path.
    schema
        The columns to read; null where an older file does not have them.
    conditions
        On columns of ``schema``.
    partitions
        For each partition column, the values to read.
    """
    if not DeltaTable.is_deltatable(table):
        return
    filesystem, root = resolve_filesystem(table)
    for path in _files(DeltaTable(table), conditions, partitions or {}):
        with (
            filesystem.open_input_file(posixpath.join(root, path)) as source,
            pq.ParquetFile(source) as file,
        ):
            names = [name for name in schema.names if name in file.schema_arrow.names]
            size = _rows_at_once(file.metadata)
            # One by one: a reader of several row groups keeps all of them in memory.
            for group in _row_groups(file.metadata, conditions):
                for batch in file.iter_batches(size, [group], names, use_threads=False):
                    rows = _with_schema(batch, schema)
                    for condition in conditions:
                        rows = rows.filter(condition.selects(rows))
                    yield rows


def _files(
    table: DeltaTable, conditions: Sequence[Condition], partitions: Mapping[str, Sequence[int]]
) -> Iterator[str]:
    """The files that may have selected rows. The log has statistics of compacted files only."""
    actions = pa.RecordBatchReader.from_stream(table.get_add_actions(flatten=True)).read_all()
    used = {f"{kind}.{each.column}" for each in conditions for kind in ("min", "max")}
    used |= {"path", *(f"partition.{name}" for name in partitions)}
    columns: dict[str, list[Any]] = {
        name: actions.column(name).to_pylist() for name in actions.column_names if name in used
    }
    unknown = [None] * len(actions)
    for row, path in enumerate(columns["path"]):
        is_read = all(
            columns[f"partition.{name}"][row] in values for name, values in partitions.items()
        )
        if is_read and all(
            _may_be_within(
                condition,
                columns.get(f"min.{condition.column}", unknown)[row],
                columns.get(f"max.{condition.column}", unknown)[row],
            )
            for condition in conditions
        ):
            yield path


def _row_groups(metadata: pq.FileMetaData, conditions: Sequence[Condition]) -> Iterator[int]:
    """The row groups that may have selected rows."""
    paths = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    known = [each for each in conditions if each.column in paths]
    columns = [paths.index(each.column) for each in known]
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for condition, column in zip(known, columns, strict=True):
            statistics = group.column(column).statistics
            if statistics is not None and statistics.has_min_max:
                smallest, largest = statistics.min, statistics.max
                if not _may_be_within(condition, smallest, largest):
                    break
        else:
            yield number


def _rows_at_once(metadata: pq.FileMetaData) -> int:
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    size = sum(group.total_byte_size for group in groups)
    return max(1, min(ROWS_AT_ONCE, BYTES_AT_ONCE * metadata.num_rows // max(1, size)))


def _may_be_within(condition: Condition, smallest: Any, largest: Any) -> bool:  # noqa: ANN401
    if smallest is None or largest is None:
        return True
    return condition.may_be_within(smallest, largest)


def _with_schema(batch: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    known = set(batch.schema.names)
    columns = [
        pc.cast(batch.column(field.name), field.type)
        if field.name in known
        else pa.nulls(batch.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)
