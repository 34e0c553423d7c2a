"""Workspaces whose inbox an older version wrote: Parquet files, streamed by Spark's file source."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.documents import Document, Header
from penstock.language import TokenizerOptions
from penstock.pipeline.delivery import deliver
from penstock.pipeline.file_stream_upgrade import CHECKPOINT
from penstock.pipeline.journal_tasks import read_entries
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import (
    Published,
    StoredSubscription,
    Workspace,
    database,
    parquet_inbox,
    subscription_store,
)
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.delta import commit_batch
from penstock.workspace.journal_scanner import Found, JournalScanner
from penstock.workspace.migrations import MIGRATIONS
from penstock.workspace.parquet_inbox import move_identities
from penstock.workspace.retention import file_removals
from penstock.workspace.table_schemas import DOCUMENTS

STREAM = "old"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of an older version, with five documents in three files, one not yet moved."""
    path = tmp_path / "workspace"
    with monkeypatch.context() as patch:
        before = MIGRATIONS[: MIGRATIONS.index(move_identities)]
        patch.setattr(database, "MIGRATIONS", before)
        # The older version had no tokenizer options.
        patch.setattr(subscription_store, "read_tokenizer", lambda _: TokenizerOptions())
        with Workspace.create(path) as created:
            wanted = StoredSubscription(id="all", subscriber="anna", query="/news")
            created.subscriptions.add(wanted)
    (path / "staging").mkdir()
    write_parquet(path / "inbox", [1, 2])
    write_parquet(path / "inbox", [3])
    write_parquet(path / "staging", [4, 5])
    connection = sqlite3.connect(path / "penstock.sqlite")
    with connection:
        rows = [(f"wire/{number}", number) for number in range(1, 6)]
        connection.executemany("INSERT INTO published VALUES (?, ?)", rows)
        connection.execute("UPDATE sequences SET next = 6")
        connection.execute("INSERT INTO staged VALUES (?, 4)", (parquet_name(4),))
    connection.close()
    return path


def parquet_name(first: int) -> str:
    return f"{first:019}.parquet"


def document(number: int) -> Document:
    return Document(b"<news>%d</news>" % number, Header(publisher="wire", id=str(number)))


def write_parquet(folder: Path, numbers: Sequence[int]) -> None:
    rows = [
        {
            "document": f"wire/{number}",
            "publisher": "wire",
            "schema": "",
            "fields": [],
            "sequence": number,
            "published_at": datetime(2026, 1, 1, tzinfo=UTC),
            "content": document(number).content,
        }
        for number in numbers
    ]
    table = pa.Table.from_pylist(rows, schema=DOCUMENTS)
    pq.write_table(table, folder / parquet_name(numbers[0]))


def delivered(workspace: Workspace) -> list[str]:
    rows = DeltaTable(workspace.tables.deliveries).to_pyarrow_table(columns=["document"])
    return sorted(row["document"] for row in rows.to_pylist())


def test_documents_of_an_older_inbox_keep_their_numbers(folder: Path) -> None:
    with Workspace.open(folder) as workspace:
        names = sorted(path.name for path in workspace.inbox.folder.iterdir())
        assert names == [f"{first:019}.journal" for first in (1, 3, 4)]
        for number in range(1, 6):
            found = workspace.inbox.find(f"wire/{number}")
            assert found is not None
            assert found.content == document(number).content
        assert workspace.status().waiting == 5
        receipts = list(workspace.inbox.publish_each([document(5), document(6)]))
        assert [(each.sequence, each.new) for each in receipts] == [(5, False), (6, True)]
    assert not (folder / "staging").exists()


def test_two_processes_can_open_an_older_workspace_at_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second one finds the files converted when it gets the lock."""
    list_files = parquet_inbox.parquet_files
    convert_first = [lambda: Workspace.open(folder).close()]

    def list_and_be_overtaken(inbox: Path) -> list[Path]:
        found = list_files(inbox)
        if convert_first:
            convert_first.pop()()
        return found

    monkeypatch.setattr(parquet_inbox, "parquet_files", list_and_be_overtaken)
    with Workspace.open(folder) as workspace:
        assert workspace.status().waiting == 5
        assert workspace.inbox.damaged() == []


def test_a_database_of_an_older_version_that_is_restored_gives_no_number_again(
    folder: Path, tmp_path: Path
) -> None:
    """The hint of `workspace.damaged` advises to restore it alone."""
    backup = shutil.copy(folder / "penstock.sqlite", tmp_path)
    with contextlib.closing(sqlite3.connect(backup)) as connection, connection:
        # It was made before the last document was published.
        connection.execute("DELETE FROM published WHERE sequence = 5")
        connection.execute("UPDATE sequences SET next = 5")
    with Workspace.open(folder) as workspace:
        workspace.publish([document(6), document(7)])
    shutil.copy(backup, folder)
    with Workspace.open(folder) as workspace:
        receipts = list(workspace.inbox.publish_each([document(7), document(8)]))
    assert [(each.sequence, each.new) for each in receipts] == [(7, False), (8, True)]


def test_what_a_killed_upgrade_leaves_is_removed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def be_killed(path: Path, *_: object, **__: object) -> None:
        if path.exists():
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", be_killed)  # also of what is left after a failure
        patch.setattr(os, "replace", be_killed)
        with pytest.raises(KeyboardInterrupt):
            Workspace.open(folder)
        patch.setattr(os, "replace", os.rename)
        patch.setattr(Path, "replace", be_killed)
        with pytest.raises(KeyboardInterrupt):
            Workspace.open(folder)
    left = [*folder.glob("*.part"), *(folder / "inbox").glob("*.part")]
    assert len(left) == 2
    with Workspace.open(folder) as workspace:
        assert workspace.status().waiting == 5
        (removal,) = file_removals(workspace, now=datetime.now(UTC) + timedelta(days=2))
        removal.remove()
    assert not any(path.exists() for path in left)


@pytest.mark.parametrize("damage", ["truncated", "empty", "not Parquet", "pages overwritten"])
def test_a_damaged_file_of_an_older_inbox_is_set_aside(
    folder: Path, tmp_path: Path, damage: str
) -> None:
    path = folder / "inbox" / parquet_name(1)
    content = path.read_bytes()
    shutil.copy(path, tmp_path)
    contents = {
        "truncated": content[:-30],
        "empty": b"",
        "not Parquet": b"x" * 100,
        "pages overwritten": content[:4] + b"\xff" * 60 + content[64:],
    }
    path.write_bytes(contents[damage])
    with Workspace.open(folder) as workspace:
        (found,) = workspace.inbox.damaged()
        assert (found.file, found.first, found.last) == (path.name, 1, 2)
        assert (workspace.inbox.damaged_folder / path.name).exists()
        assert workspace.status().waiting == 5
        assert workspace.inbox.restore(workspace.inbox.damaged_folder / path.name) == 0
        assert workspace.inbox.restore(tmp_path / path.name) == 2
        assert workspace.status().waiting == 5
        assert workspace.inbox.damaged() == []


def write_file_source_checkpoint(workspace: Workspace, *, batches: Sequence[Sequence[int]]) -> None:
    """Write the checkpoint of Spark's file source, as of another folder, and the batch records."""
    checkpoint = workspace.checkpoints / CHECKPOINT
    for name in ("offsets", "commits", "sources/0"):
        (checkpoint / name).mkdir(parents=True)
    (checkpoint / "penstock-stream.json").write_text(json.dumps({"stream": STREAM, "after": -1}))
    for batch, firsts in enumerate(batches):
        offset = json.dumps({"logOffset": batch})
        (checkpoint / "offsets" / str(batch)).write_text(f"v1\n{{}}\n{offset}")
        files = [
            json.dumps(
                {
                    "path": f"file:///elsewhere/{parquet_name(first)}",
                    "batchId": batch,
                    "timestamp": 1,
                }
            )
            for first in firsts
        ]
        (checkpoint / "sources" / "0" / str(batch)).write_text("\n".join(["v1", *files]))


def test_the_batch_that_an_older_version_began_is_completed_once(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace.open(folder) as workspace:
        workspace.tables.create()
        write_file_source_checkpoint(workspace, batches=[[1], [3]])
        records = BatchRecords(str(workspace.batches), STREAM)
        version = workspace.current_version()
        for batch, numbers in enumerate([[1, 2], [3]]):
            record = records.get_or_create(batch, lambda: [version], lambda: mappings(workspace))
            documents = spark.createDataFrame(rows_of(workspace, numbers))
            with monkeypatch.context() as patch:
                if batch == 1:  # killed after the first table was committed
                    patch.setattr("penstock.pipeline.delivery.commit_batch", commit_one_table)
                try:
                    deliver(
                        documents,
                        record.versions,
                        workspace.tables,
                        stream=STREAM,
                        batch=batch,
                        at=record.at,
                        mappings=record.mappings,
                    )
                except InterruptedError:
                    assert batch == 1
        run(spark, workspace, RunConfig(), lambda _: None)
        assert delivered(workspace) == [f"wire/{number}" for number in range(1, 6)]
        table = DeltaTable(workspace.tables.documents).to_pyarrow_table(columns=["sequence"])
        assert sorted(row["sequence"] for row in table.to_pylist()) == [1, 2, 3, 4, 5]
        assert not (workspace.checkpoints / CHECKPOINT).exists()
        assert workspace.publish([document(5), document(6)]) == Published(1, 1)
        run(spark, workspace, RunConfig(), lambda _: None)
        assert delivered(workspace) == [f"wire/{number}" for number in range(1, 7)]


def mappings(workspace: Workspace) -> str:
    return workspace.mediation.current(unknown_schema="refuse")


def rows_of(workspace: Workspace, numbers: Sequence[int]) -> pa.Table:
    scanned = JournalScanner(workspace.inbox.folder).scan(numbers[0] - 1, numbers[-1])
    return pa.Table.from_batches(
        read_entries([each for each in scanned if isinstance(each, Found)])
    )


def commit_one_table(table: str, *arguments: object, **options: object) -> None:
    if not table.endswith("documents"):
        raise InterruptedError
    commit_batch(table, *arguments, **options)  # type: ignore[arg-type]
