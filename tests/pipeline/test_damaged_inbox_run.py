"""A damaged inbox file holds up its own documents only."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.documents import Document, Header
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.journal import HEADER_BYTES, JournalFile, journal_files
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


def test_the_other_documents_are_delivered_and_the_damaged_ones_after_their_restoration(
    spark: SparkSession, workspace: Workspace
) -> None:
    (path,) = journal_files(workspace.inbox.folder)
    shutil.copy(path, "backup.journal")
    with JournalFile(path) as file:
        (_, second, _) = file.entries()
    content = bytearray(path.read_bytes())
    content[second.offset + HEADER_BYTES + 30] ^= 1
    path.write_bytes(content)
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
