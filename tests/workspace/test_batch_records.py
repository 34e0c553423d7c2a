"""Records and commits of batches, where two processes are at it."""

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
    dataset_of,
)

SCHEMA = pa.schema([pa.field("number", pa.int64())])


def test_no_record_is_made_while_someone_looks_what_is_recorded(tmp_path: Path) -> None:
    # Else a backfill could take a batch for not begun that is about to record old subscriptions.
    records = BatchRecords(str(tmp_path), "stream")
    asked = threading.Event()

    def versions() -> list[str]:
        asked.set()
        return ["version"]

    recording = threading.Thread(target=records.of, args=(0, versions))
    with records.held():
        recording.start()
        assert not asked.wait(0.2)
        assert not records.has(0)
    recording.join()
    assert [record.versions for record in records.all()] == [("version",)]


def test_a_record_holds_the_mappings_of_the_first_attempt(tmp_path: Path) -> None:
    records = BatchRecords(str(tmp_path), "stream")
    made = records.of(0, lambda: ["version"], lambda: "mappings")
    again = records.of(0, lambda: ["later version"], lambda: "later mappings")
    assert again == made
    assert (again.versions, again.mappings) == (("version",), "mappings")


def test_a_record_of_before_there_were_mappings_has_none(tmp_path: Path) -> None:
    records = BatchRecords(str(tmp_path), "stream")
    made = records.of(0, lambda: ["version"])
    (path,) = (tmp_path / "stream").glob("*.json")
    older = json.loads(path.read_text())
    del older["mappings"]
    path.write_text(json.dumps(older))
    assert records.of(0, lambda: ["other"], lambda: "mappings") == made


def written(table: str, number: int) -> list[WrittenFile]:
    writer = TableWriter(table, SCHEMA)
    writer.write(pa.table({"number": [number]}, schema=SCHEMA))
    return writer.close()


def numbers(table: str) -> list[object]:
    return DeltaTable(table).to_pyarrow_table().column("number").to_pylist()


def test_a_batch_is_committed_once(tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    assert commit_batch(table, written(table, 1), stream="s", batch=0)
    assert not commit_batch(table, written(table, 2), stream="s", batch=0)
    assert numbers(table) == [1]


def test_of_two_commits_of_one_batch_at_once_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    before = DeltaTable(table)
    assert commit_batch(table, written(table, 1), stream="s", batch=0)
    # The other one looked before, and knows nothing of it.
    monkeypatch.setattr(delta, "DeltaTable", lambda _: before)
    with pytest.raises(CommitFailedError):
        commit_batch(table, written(table, 2), stream="s", batch=0)
    assert numbers(table) == [1]


def test_tables_are_read_without_calling_python_back(tmp_path: Path) -> None:
    # A thread of Arrow's that is in Python when the interpreter ends aborts the process: with
    # delta-rs's own filesystem one of twenty-five short commands ended so.
    table = str(tmp_path / "table")
    create_table(table, SCHEMA)
    commit_batch(table, written(table, 1), stream="s", batch=0)
    dataset = dataset_of(table)
    assert isinstance(dataset, FileSystemDataset)
    assert isinstance(dataset.filesystem, SubTreeFileSystem)
    assert not isinstance(dataset.filesystem.base_fs, PyFileSystem)
    assert dataset.to_table().num_rows == 1
