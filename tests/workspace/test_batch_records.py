"""Batch records and commits with concurrent processes."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError
from pyarrow.dataset import FileSystemDataset
from pyarrow.fs import PyFileSystem, SubTreeFileSystem

from penstock.workspace import delta
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.delta import (
    TableWriter,
    WrittenFile,
    commit_batch,
    create_table,
    open_dataset,
)

SCHEMA = pa.schema([pa.field("number", pa.int64())])


def test_no_record_is_created_while_the_records_are_locked(tmp_path: Path) -> None:
    # A backfill relies on it: a batch it does not see must not record older subscriptions.
    records = BatchRecords(str(tmp_path), "stream")
    called = threading.Event()

    def versions() -> list[str]:
        called.set()
        return ["version"]

    recording = threading.Thread(target=records.get_or_create, args=(0, versions))
    with records.locked():
        recording.start()
        assert not called.wait(0.2)
        assert not records.has(0)
    recording.join()
    assert [record.versions for record in records.all()] == [("version",)]


def test_a_record_keeps_the_inputs_of_the_first_attempt(tmp_path: Path) -> None:
    records = BatchRecords(str(tmp_path), "stream")
    first = records.get_or_create(0, lambda: ["version"], lambda: "mappings")
    again = records.get_or_create(0, lambda: ["later version"], lambda: "later mappings")
    assert again == first
    assert (again.versions, again.mappings) == (("version",), "mappings")


def test_a_record_written_before_mappings_existed_has_none(tmp_path: Path) -> None:
    records = BatchRecords(str(tmp_path), "stream")
    first = records.get_or_create(0, lambda: ["version"])
    (path,) = (tmp_path / "stream").glob("*.json")
    older = json.loads(path.read_text())
    del older["mappings"]
    path.write_text(json.dumps(older))
    assert records.get_or_create(0, lambda: ["other"], lambda: "mappings") == first


def write_file(table: str, number: int) -> list[WrittenFile]:
    writer = TableWriter(table, SCHEMA)
    writer.write(pa.table({"number": [number]}, schema=SCHEMA))
    return writer.close()


def numbers(table: str) -> list[object]:
    return DeltaTable(table).to_pyarrow_table().column("number").to_pylist()


def test_a_batch_is_committed_once(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    assert commit_batch(table, write_file(table, 1), stream="s", batch=0)
    assert not commit_batch(table, write_file(table, 2), stream="s", batch=0)
    assert numbers(table) == [1]


def test_of_two_concurrent_commits_of_a_batch_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    before = DeltaTable(table)
    assert commit_batch(table, write_file(table, 1), stream="s", batch=0)
    # The other process opened the table before this commit.
    monkeypatch.setattr(delta, "DeltaTable", lambda _: before)
    with pytest.raises(CommitFailedError):
        commit_batch(table, write_file(table, 2), stream="s", batch=0)
    assert numbers(table) == [1]


def test_reading_tables_does_not_call_back_into_python(tmp_path: Path) -> None:
    # An Arrow thread that calls Python during interpreter shutdown aborts the process. With
    # delta-rs's file system, one in twenty-five short commands aborted.
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    commit_batch(table, write_file(table, 1), stream="s", batch=0)
    dataset = open_dataset(table)
    assert isinstance(dataset, FileSystemDataset)
    assert isinstance(dataset.filesystem, SubTreeFileSystem)
    assert not isinstance(dataset.filesystem.base_fs, PyFileSystem)
    assert dataset.to_table().num_rows == 1
