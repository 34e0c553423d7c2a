"""A workspace can be copied and moved: nothing is lost, and nothing is delivered twice."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "original"
    with Workspace.create(path) as created:
        created.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="/news"))
    return path


def publish(folder: Path, numbers: Sequence[int]) -> None:
    with Workspace.open(folder) as workspace:
        workspace.publish(
            Document(b"<news>%d</news>" % number, Header(publisher="wire", id=str(number)))
            for number in numbers
        )


def drain(spark: SparkSession, folder: Path) -> None:
    with Workspace.open(folder) as workspace:
        run(spark, workspace, RunConfig(documents_per_batch=2), lambda _: None)


def numbers_in(folder: Path, table: str) -> list[int]:
    rows = DeltaTable(folder / "tables" / table).to_pyarrow_table(columns=["document"]).to_pylist()
    return sorted(int(row["document"].removeprefix("wire/")) for row in rows)


def copied(folder: Path) -> Path:
    """A copy of the workspace, whose original is gone."""
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    shutil.rmtree(folder)
    return copy


def test_a_copy_continues_where_the_original_stopped(spark: SparkSession, folder: Path) -> None:
    publish(folder, [0, 1, 2])
    drain(spark, folder)
    copy = copied(folder)
    publish(copy, [2, 3])
    drain(spark, copy)
    assert numbers_in(copy, "deliveries") == [0, 1, 2, 3]


def test_a_copy_with_waiting_documents_delivers_them(spark: SparkSession, folder: Path) -> None:
    publish(folder, [0, 1, 2])
    drain(spark, folder)
    publish(folder, [3, 4])
    copy = copied(folder)
    with Workspace.open(copy) as workspace:
        assert workspace.status().waiting == 2
    drain(spark, copy)
    assert numbers_in(copy, "deliveries") == [0, 1, 2, 3, 4]


def test_a_copy_completes_the_batch_that_the_original_began(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch is recorded with the versions of the original, and one table is committed."""
    publish(folder, [0, 1, 2])
    drain(spark, folder)
    publish(folder, [3])

    def interrupted(*_arguments: object, **_options: object) -> bool:
        raise RuntimeError("interrupted")

    with monkeypatch.context() as patch:
        # Documents are committed first.
        patch.setattr("penstock.pipeline.delivery.commit_deliveries", interrupted)
        with pytest.raises(PenstockError, match="RuntimeError: interrupted"):
            drain(spark, folder)
    assert numbers_in(folder, "documents") == [0, 1, 2, 3]
    assert numbers_in(folder, "deliveries") == [0, 1, 2]
    copy = copied(folder)
    with Workspace.open(copy) as workspace:
        # It is not current, but recorded: the batch uses it.
        workspace.subscriptions.remove(["all"])
    drain(spark, copy)
    assert numbers_in(copy, "documents") == [0, 1, 2, 3]
    assert numbers_in(copy, "deliveries") == [0, 1, 2, 3]
