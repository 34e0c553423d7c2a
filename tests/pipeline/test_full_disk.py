"""A full disk stops the pipeline, and loses nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace
from support.fixtures.small_disk import fill, small_disk

DOCUMENT_BYTES = 60_000
DOCUMENTS = 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small disk for one test."""
    with small_disk(tmp_path) as mounted:
        yield mounted


@pytest.mark.parametrize("free_bytes", [0, 30_000, 100_000, 300_000])
def test_a_full_disk_stops_the_run_and_loses_nothing(
    spark: SparkSession, disk: Path, free_bytes: int
) -> None:
    rng = random.Random(free_bytes)
    with Workspace.create(disk / "workspace") as workspace:
        workspace.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="/news"))
        workspace.publish(
            # Hardly compressible, so that the output is larger than the free space.
            Document(
                b"<news>%s</news>" % rng.randbytes(DOCUMENT_BYTES // 2).hex().encode(),
                Header(publisher="wire", id=str(number)),
            )
            for number in range(DOCUMENTS)
        )
        filler = disk / "filler"
        fill(filler)
        with filler.open("r+b") as file:
            file.truncate(max(filler.stat().st_size - free_bytes, 0))

        with pytest.raises(PenstockError) as full:
            run(spark, workspace, RunConfig(), lambda _: None)
        assert full.value.code == "workspace.full", f"{full.value}: {full.value.__cause__}"

        filler.unlink()
        run(spark, workspace, RunConfig(), lambda _: None)
        for table in (workspace.tables.documents, workspace.tables.deliveries):
            rows = DeltaTable(table).to_pyarrow_table(columns=["document"]).to_pylist()
            assert sorted(row["document"] for row in rows) == sorted(
                f"wire/{number}" for number in range(DOCUMENTS)
            )
