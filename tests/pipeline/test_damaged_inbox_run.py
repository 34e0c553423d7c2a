"""A damaged inbox file holds up its own documents only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.documents import Document, Header
from penstock.pipeline.inbox_tasks import plan_tasks
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace, database
from penstock.workspace.journal import HEADER_BYTES, JournalFile, journal_files
from penstock.workspace.journal_scanner import JournalScanner, Missing
from support.fixtures.commands import penstock


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A workspace that is the current folder, with one entry in each of three publishes."""
    monkeypatch.chdir(tmp_path)
    with Workspace.create(tmp_path) as created:
        created.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="/news"))
        for number in range(1, 4):
            header = Header(publisher="wire", id=str(number))
            created.publish([Document(b"<news>%d</news>" % number, header)])
        yield created


def delivered(workspace: Workspace) -> list[str]:
    rows = DeltaTable(workspace.tables.deliveries).to_pyarrow_table(columns=["document"])
    return sorted(row["document"] for row in rows.to_pylist())


def damage_second_entry(path: Path) -> None:
    with JournalFile(path) as file:
        (_, second, _) = file.entries()
    content = bytearray(path.read_bytes())
    content[second.offset + HEADER_BYTES + 30] ^= 1
    path.write_bytes(content)


def planned(workspace: Workspace, after: int, upto: int) -> list[int]:
    """The sequence numbers of the documents that the tasks of a batch read."""
    scanner = JournalScanner(workspace.inbox.folder)
    tasks = plan_tasks(workspace.inbox, scanner, after, upto)
    found = [each for task in tasks for each in task]
    return [number for each in found for number in range(each.first, each.last + 1)]


def test_the_other_documents_are_delivered_and_the_damaged_ones_after_their_restoration(
    spark: SparkSession, workspace: Workspace
) -> None:
    (path,) = journal_files(workspace.inbox.folder)
    shutil.copy(path, "backup.journal")
    damage_second_entry(path)
    run(spark, workspace, RunConfig(), lambda _: None)
    assert delivered(workspace) == ["wire/1", "wire/3"]
    status = penstock("status")
    assert "1 waiting" in status.out
    assert f"damaged: damaged/{path.name}: the checksum of an entry is wrong" in status.out
    damaged = {"file": path.name, "first": 2, "last": 2}
    assert penstock("status", "--json").rows[0]["damaged"][0].items() >= damaged.items()
    assert penstock("inbox", "restore", str(path)).err == (
        "0 documents restored; 1 document still damaged\n"
    )
    assert penstock("inbox", "restore", "backup.journal", "--json").rows == [
        {"type": "summary", "restored": 1, "damaged": 0}
    ]
    run(spark, workspace, RunConfig(), lambda _: None)
    assert delivered(workspace) == ["wire/1", "wire/2", "wire/3"]
    assert "damaged" not in penstock("status").out
    assert "0 waiting" in penstock("status").out


def test_a_batch_whose_documents_are_all_damaged_has_no_tasks_and_is_committed(
    spark: SparkSession, workspace: Workspace
) -> None:
    workspace.inbox.record_damage(Missing(1, 3, None, "the file is missing"))
    run(spark, workspace, RunConfig(), lambda _: None)
    assert delivered(workspace) == []
    workspace.publish([Document(b"<news/>", Header(publisher="wire", id="4"))])
    run(spark, workspace, RunConfig(), lambda _: None)
    assert delivered(workspace) == ["wire/4"]


def test_documents_that_were_set_aside_are_not_in_a_replay_of_their_batch(
    workspace: Workspace,
) -> None:
    """Otherwise they are delivered twice: in the replay, and after their restoration."""
    (path,) = journal_files(workspace.inbox.folder)
    whole = path.read_bytes()
    damage_second_entry(path)
    assert planned(workspace, 0, 3) == [1, 3]
    path.write_bytes(whole)
    assert planned(workspace, 0, 3) == [1, 3]
    assert workspace.inbox.restore(path) == 1
    assert planned(workspace, 0, 3) == [1, 3]
    assert planned(workspace, 3, 4) == [4]


def test_documents_within_an_entry_stay_set_aside(workspace: Workspace) -> None:
    workspace.publish([Document(b"<news/>", Header(publisher="wire", id=each)) for each in "abcde"])
    for first, last in ((5, 5), (7, 7)):
        workspace.inbox.record_damage(Missing(first, last, None, "the file is missing"))
    assert planned(workspace, 0, 8) == [1, 2, 3, 4, 6, 8]
    assert planned(workspace, 5, 6) == [6]
    assert planned(workspace, 4, 5) == []


def test_a_record_of_damage_is_on_disk_before_the_batch_goes_on(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The stream does not come back to the documents: nothing else would say that they wait."""
    (path,) = journal_files(workspace.inbox.folder)
    damage_second_entry(path)
    flushed: list[str] = []
    monkeypatch.setattr(database, "sync_file", lambda path: flushed.append(path.name))
    planned(workspace, 0, 3)
    assert flushed == ["inbox.sqlite-wal"]
