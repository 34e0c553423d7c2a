"""Recent documents: written uncompressed, compressed and merged by compaction."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.workspace import (
    Workspace,
    compaction,
    maintain,
    recent_documents,
    recent_files,
)
from penstock.workspace.compaction import compact
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import (
    TableWriter,
    commit_batch,
    last_committed_batch,
    open_dataset,
)
from penstock.workspace.document_contents import DocumentKey, read_contents
from penstock.workspace.file_statistics import file_statistics
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.recent_documents import compact_recent_documents, is_recent
from penstock.workspace.recent_files import RecentFile
from penstock.workspace.table_schemas import DOCUMENT_LOG

START = datetime(2026, 1, 1, 0, 0, 0, 123_457, tzinfo=UTC)


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    created = Tables(str(tmp_path))
    created.create()
    return created


def document(number: int, batch: int) -> dict[str, Any]:
    return {
        "document": f"wire/{number}",
        "publisher": "wire",
        "schema": "",
        "fields": [("file", f"{number}.xml")] if number % 2 else [],
        "sequence": number,
        "published_at": START + timedelta(seconds=number),
        "content": b"<news>%d%s</news>" % (number, b" words" * 50),
        "batch": batch,
        "unknown_elements": None if number % 3 else number,
    }


def commit(tables: Tables, numbers: Sequence[int], *, batch: int, recent: bool = True) -> None:
    writer = TableWriter(tables.documents, DOCUMENT_LOG, recent=recent)
    rows = [document(number, batch) for number in numbers]
    writer.write(pa.Table.from_pylist(rows, schema=DOCUMENT_LOG))
    commit_batch(tables.documents, writer.close(), stream="s", batch=batch)


def rows_of(tables: Tables) -> list[dict[str, Any]]:
    found: Any = open_dataset(tables.documents).to_table()
    rows: list[dict[str, Any]] = found.to_pylist()
    return sorted(rows, key=lambda row: int(row["sequence"]))


def files_of(tables: Tables) -> list[str]:
    return DeltaTable(tables.documents).file_uris()


def codec_of_contents(path: str) -> str:
    metadata = pq.read_metadata(path)
    columns = [metadata.schema.column(number).path for number in range(metadata.num_columns)]
    return str(metadata.row_group(0).column(columns.index("content")).compression)


def key(number: int) -> DocumentKey:
    row = document(number, 0)
    return DocumentKey(row["document"], number, content_digest(row["content"]))


def test_recent_documents_are_read_before_and_after_compaction(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        commit(tables, range(batch * 10, batch * 10 + 10), batch=batch)
    assert {codec_of_contents(file) for file in files_of(tables)} == {"UNCOMPRESSED"}
    before = rows_of(tables)
    keys = [key(number) for number in (3, 17, 29)]
    contents = read_contents(tables, keys)
    assert set(contents) == set(keys)
    assert compact_recent_documents(tables.documents) == 0
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    assert compact_recent_documents(tables.documents) == 3
    assert rows_of(tables) == before
    assert read_contents(tables, keys) == contents
    (file,) = files_of(tables)
    assert codec_of_contents(file) == "ZSTD"
    assert compact_recent_documents(tables.documents) == 0
    assert last_committed_batch(tables.documents, "s") == 2


def test_files_that_were_written_in_another_order_are_sorted(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit(tables, range(10, 20), batch=0)
    commit(tables, range(10), batch=1)
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    assert compact_recent_documents(tables.documents) == 2
    (file,) = files_of(tables)
    found: Any = pq.read_table(file)
    assert found.column("sequence").to_pylist() == list(range(20))


def test_many_files_are_merged_however_small_they_are(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 2)
    for batch in range(3):
        assert compact(tables) == 0
        commit(tables, [batch], batch=batch)
    before = rows_of(tables)
    assert compact(tables) == 3
    assert rows_of(tables) == before
    assert len(files_of(tables)) == 1


def test_maintenance_compacts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    with Workspace.create(tmp_path / "workspace") as workspace:
        assert maintain(workspace, now=START) == []  # there are no tables yet
        tables = workspace.tables
        tables.create()
        for batch in range(2):
            commit(tables, [batch], batch=batch)
        maintain(workspace, now=START)
        assert [codec_of_contents(file) for file in files_of(tables)] == ["ZSTD"]
        assert [row["sequence"] for row in rows_of(tables)] == [0, 1]


def test_recent_files_do_not_count_as_small_ones(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "SMALL_FILES_MAX", 2)
    for batch in range(2):
        commit(tables, [batch], batch=batch, recent=False)
    commit(tables, [2], batch=2)
    assert compact(tables) == 0
    assert sum(map(is_recent, files_of(tables))) == 1


def test_large_amounts_are_compressed_in_groups_that_fit_into_memory(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(3):
        commit(tables, [batch], batch=batch)
    before, version = rows_of(tables), DeltaTable(tables.documents).version()
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_BYTES_MAX", 1)
    assert compact_recent_documents(tables.documents) == 3
    assert rows_of(tables) == before
    assert DeltaTable(tables.documents).version() == version + 3


@pytest.mark.parametrize("change", ["retention", "batch"])
def test_what_changes_during_compaction_stays_changed(
    tables: Tables, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    for batch in range(2):
        commit(tables, [batch], batch=batch)
    read = recent_files._read

    def read_then_change(table: DeltaTable, files: Sequence[RecentFile]) -> pa.Table:
        rows = read(table, files)
        if change == "retention":
            DeltaTable(tables.documents).delete("sequence = 0")
        else:
            commit(tables, [2], batch=2)
        return rows

    monkeypatch.setattr(recent_files, "_read", read_then_change)
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    replaced = compact_recent_documents(tables.documents)
    numbers = [row["sequence"] for row in rows_of(tables)]
    assert (replaced, numbers) == ((0, [1]) if change == "retention" else (2, [0, 1, 2]))


def test_rows_without_a_later_column_get_nulls(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = DOCUMENT_LOG.remove(DOCUMENT_LOG.get_field_index("unknown_elements"))
    writer = TableWriter(tables.documents, older, recent=True)
    writer.write(pa.Table.from_pylist([document(3, 0)], schema=older))
    commit_batch(tables.documents, writer.close(), stream="s", batch=0)
    commit(tables, [6], batch=1)
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    assert compact_recent_documents(tables.documents) == 2
    assert [row["unknown_elements"] for row in rows_of(tables)] == [None, 6]


def test_the_log_has_the_statistics_that_delta_rs_would_write(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in range(2):
        commit(tables, range(batch * 10, batch * 10 + 10), batch=batch)
    monkeypatch.setattr(recent_documents, "RECENT_DOCUMENT_FILES_MAX", 1)
    assert compact_recent_documents(tables.documents) == 2
    ours = statistics_of(tables)
    assert (ours["min.sequence"], ours["max.sequence"]) == (0, 19)
    commit(tables, range(20, 30), batch=2, recent=False)
    table = DeltaTable(tables.documents)
    table.optimize.compact(target_size=1 << 20)
    theirs = statistics_of(tables)
    assert ours.keys() == theirs.keys()
    # delta-rs cuts off microseconds, also those of the largest value.
    changed = {"max.sequence", "min.published_at", "max.published_at", "max.batch"}
    changed |= {"max.unknown_elements", "null_count.unknown_elements", "num_records"}
    assert {name for name in ours if ours[name] != theirs[name]} == changed


def statistics_of(tables: Tables) -> dict[str, Any]:
    actions: Any = pa.table(DeltaTable(tables.documents).get_add_actions(flatten=True))
    (row,) = actions.drop_columns(["path", "size_bytes", "modification_time"]).to_pylist()
    return dict(row)


@settings(max_examples=10)
@example([(0, None, "\U00020000")])
@given(
    st.lists(
        st.tuples(st.integers(0, 50), st.one_of(st.none(), st.integers(-5, 5)), st.text()),
        min_size=1,
        max_size=8,
    )
)
def test_no_row_is_lost_by_the_statistics(
    tmp_path_factory: pytest.TempPathFactory, values: list[tuple[int, int | None, str]]
) -> None:
    tables = Tables(str(tmp_path_factory.mktemp("tables")))
    tables.create()
    rows = [
        {**document(number, 0), "unknown_elements": unknown, "schema": text}
        for number, unknown, text in values
    ]
    found = recent_documents._compress(
        tables.documents, pa.Table.from_pylist(rows, schema=DOCUMENT_LOG)
    )
    assert all(file.statistics is not None for file in found)
    commit_batch(tables.documents, found, stream="s", batch=0)
    dataset = open_dataset(tables.documents)
    for row in rows:
        for name in ("sequence", "schema", "unknown_elements", "published_at", "content"):
            field: Any = pc.field(name)
            condition = (
                field.is_null()
                if row[name] is None
                else field == pa.scalar(row[name], DOCUMENT_LOG.field(name).type)
            )
            expected = sum(each[name] == row[name] for each in rows)
            assert dataset.to_table(filter=condition).num_rows == expected
    DeltaTable(tables.documents).delete("sequence >= 25")
    assert len(rows_of(tables)) == sum(number < 25 for number, _, _ in values)


def test_a_file_without_complete_statistics_has_none(tmp_path: Path) -> None:
    table = pa.table({"text": ["x" * 10_000], "number": [1]})
    pq.write_table(table, tmp_path / "long.parquet", write_statistics=True)
    assert file_statistics(pq.read_metadata(tmp_path / "long.parquet")) is None
    pq.write_table(table, tmp_path / "none.parquet", write_statistics=["number"])
    assert file_statistics(pq.read_metadata(tmp_path / "none.parquet")) is None
