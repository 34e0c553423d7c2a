"""Delivery of streams."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.mediation import Mapping
from penstock.pipeline import spark_schemas
from penstock.pipeline.delivery_stream import BatchDelivery, start_stream
from penstock.pipeline.progress import BatchProgress, ProgressListener
from penstock.workspace.index_versions import write_version
from penstock.workspace.pipeline_tables import Tables
from support.fixtures.mediated_data import TURNED_OLD, UNCHANGED, mappings_at
from support.spark.example_tables import document_table, expected_matches, subscription_table

FIRST = {"anna.all": "/news", "anna.one": "news 1"}
SECOND = {"anna.all": "/news", "ben.two": "/news[. = 2]", "ben.some": "2 OR 3 OR 11"}
DOCUMENTS = document_table([b"<news>%d</news>" % number for number in range(6)], schema="news")


class VersionFile:
    """Returns the versions that a file lists, like a store that other processes change."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __call__(self) -> Sequence[str]:
        return self.path.read_text().split()

    def set(self, version: str) -> None:
        self.path.write_text(version)


class MappingsFile:
    """Returns the mappings that a file names, for the documents of one schema."""

    def __init__(self, folder: Path, mapping: Mapping) -> None:
        self._folder = folder
        self.set(mapping)

    def __call__(self) -> str:
        return (self._folder / "current-mappings").read_text()

    def set(self, mapping: Mapping) -> None:
        uri = mappings_at(self._folder, {"news": mapping})
        (self._folder / "current-mappings").write_text(uri)


@pytest.fixture
def delivery(tmp_path: Path) -> BatchDelivery:
    tables = Tables(str(tmp_path / "tables"))
    tables.create()
    current = VersionFile(tmp_path / "current")
    current.set(write_version(str(tmp_path / "indexes"), subscription_table(FIRST)))
    return BatchDelivery(
        versions=current,
        tables=tables,
        records=str(tmp_path / "batches"),
        stream="s",
        mappings=MappingsFile(tmp_path, UNCHANGED),
    )


@pytest.fixture
def inbox(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return folder


@pytest.fixture
def documents(spark: SparkSession, inbox: Path) -> DataFrame:
    stream = spark.readStream.schema(spark_schemas.DOCUMENTS).option("maxFilesPerTrigger", 1)
    return stream.parquet(str(inbox))


def put(inbox: Path, first: int, last: int) -> None:
    # Renamed into place: a stream that follows the folder must not see an incomplete file.
    temporary = inbox.with_suffix(".part")
    pq.write_table(DOCUMENTS.slice(first, last - first), temporary)
    temporary.rename(inbox / f"{first}.parquet")


def delivered(tables: Tables) -> list[tuple[str, str]]:
    rows = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    return sorted((row["document"], row["subscription"]) for row in rows)


def drain(documents: DataFrame, delivery: BatchDelivery, tmp_path: Path) -> None:
    assert start_stream(documents, delivery, checkpoint=tmp_path / "checkpoint").awaitTermination(
        120
    )


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("the condition did not hold within a minute")


def test_available_documents_are_drained_and_the_next_run_continues(
    documents: DataFrame, delivery: BatchDelivery, inbox: Path, tmp_path: Path
) -> None:
    put(inbox, 0, 2)
    put(inbox, 2, 4)
    drain(documents, delivery, tmp_path)
    assert delivered(delivery.tables) == sorted(expected_matches(FIRST, DOCUMENTS.slice(0, 4)))
    put(inbox, 4, 6)
    drain(documents, delivery, tmp_path)
    assert delivered(delivery.tables) == sorted(expected_matches(FIRST, DOCUMENTS))


def test_changed_subscriptions_take_effect_with_the_next_batch(
    spark: SparkSession,
    documents: DataFrame,
    delivery: BatchDelivery,
    inbox: Path,
    tmp_path: Path,
) -> None:
    reported: list[BatchProgress] = []
    listener = ProgressListener(delivery.tables, "s", reported.append)
    spark.streams.addListener(listener)
    query = start_stream(
        documents, delivery, checkpoint=tmp_path / "checkpoint", follow_seconds=0.1
    )
    try:
        put(inbox, 0, 2)
        wait_until(lambda: len(reported) == 1)
        second = write_version(str(tmp_path / "indexes"), subscription_table(SECOND))
        assert isinstance(delivery.versions, VersionFile)
        delivery.versions.set(second)
        put(inbox, 2, 6)
        wait_until(lambda: len(reported) == 2)
    finally:
        query.stop()
        spark.streams.removeListener(listener)
    before, after = DOCUMENTS.slice(0, 2), DOCUMENTS.slice(2)
    assert delivered(delivery.tables) == sorted(
        expected_matches(FIRST, before) | expected_matches(SECOND, after)
    )
    assert [(each.batch, each.counts.documents, each.counts.deliveries) for each in reported] == [
        (0, 2, 3),
        (1, 4, 7),
    ]
    assert all(each.seconds > 0 and each.megabytes_per_second > 0 for each in reported)


def test_a_replayed_batch_uses_its_recorded_versions_and_mappings(
    documents: DataFrame, delivery: BatchDelivery, inbox: Path, tmp_path: Path
) -> None:
    put(inbox, 0, 6)
    drain(documents, delivery, tmp_path)
    # As after a failure between the record and the commits: Spark replays the batch.
    for commit in (tmp_path / "checkpoint" / "commits").iterdir():
        commit.unlink()
    # There are no dead letters, so their table has no commit of the batch.
    for table in ("documents", "deliveries", "counts"):
        (tmp_path / "tables" / table / "_delta_log" / f"{1:020}.json").unlink()
    assert isinstance(delivery.versions, VersionFile)
    delivery.versions.set(write_version(str(tmp_path / "indexes"), subscription_table(SECOND)))
    assert isinstance(delivery.mappings, MappingsFile)
    delivery.mappings.set(TURNED_OLD)
    drain(documents, delivery, tmp_path)
    assert delivered(delivery.tables) == sorted(expected_matches(FIRST, DOCUMENTS))
