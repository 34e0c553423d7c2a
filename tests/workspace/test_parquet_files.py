"""The Parquet files of the tables: what is compressed how, and where statistics are."""

from __future__ import annotations

import posixpath
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.workspace.delivery_writer import DeliveryWriter
from penstock.workspace.delta import TableWriter, WrittenFile
from penstock.workspace.subscriber_buckets import RECENT
from penstock.workspace.table_schemas import DEAD_LETTERS, DELIVERIES, DOCUMENT_LOG

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
VALUES: dict[pa.DataType, Any] = {
    pa.string(): "x" * 100,
    pa.binary(): b"<a/>" * 100,
    pa.int64(): 7,
    pa.int32(): 7,
}


def rows(schema: pa.Schema) -> pa.Table:
    """A hundred equal rows; the columns with other types are times, maps and lists."""
    columns = {}
    for field in schema:
        value = VALUES.get(field.type, NOON if pa.types.is_timestamp(field.type) else [])
        if pa.types.is_map(field.type):
            value = [("name", "value" * 20)]
        columns[field.name] = [value] * 100
    return pa.table(columns, schema=schema)


def columns_of(root: Path, written: list[WrittenFile]) -> dict[str, Any]:
    """The metadata of each column in the first row group of the only file."""
    (file,) = written
    group = pq.read_metadata(posixpath.join(root, file.path)).row_group(0)
    columns = [group.column(number) for number in range(group.num_columns)]
    return {column.path_in_schema: column for column in columns}


@pytest.mark.parametrize("schema", [DOCUMENT_LOG, DEAD_LETTERS])
def test_only_the_bytes_of_documents_are_worth_zstd(tmp_path: Path, schema: pa.Schema) -> None:
    writer = TableWriter(str(tmp_path), schema)
    writer.write(rows(schema))
    written = writer.close()
    assert pq.read_table(tmp_path / written[0].path).equals(rows(schema))
    columns = columns_of(tmp_path, written)
    content = columns.pop("content")
    assert content.compression == "ZSTD"
    assert content.total_compressed_size < content.total_uncompressed_size / 10
    assert {column.compression for column in columns.values()} == {"SNAPPY"}
    assert not any(column.has_dictionary_page for column in columns.values())


def test_documents_are_found_by_the_statistics_of_their_row_group(tmp_path: Path) -> None:
    writer = TableWriter(str(tmp_path), DOCUMENT_LOG)
    writer.write(rows(DOCUMENT_LOG))
    columns = columns_of(tmp_path, writer.close())
    assert columns["sequence"].statistics.min == columns["sequence"].statistics.max == 7
    assert columns["document"].is_stats_set
    assert not columns["content"].is_stats_set


@pytest.mark.parametrize(("bucket", "codec"), [(RECENT, "SNAPPY"), (3, "ZSTD")])
def test_recent_deliveries_are_compressed_well_when_they_are_moved(
    tmp_path: Path, bucket: int, codec: str
) -> None:
    writer = DeliveryWriter(str(tmp_path), DELIVERIES, bucket=bucket)
    writer.write(rows(DELIVERIES))
    columns = columns_of(tmp_path, writer.close())
    assert {column.compression for column in columns.values()} == {codec}
    assert columns["subscriber"].is_stats_set
