"""Documents that end worker processes are quarantined; all others are delivered exactly once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.documents import Document, Header
from penstock.pipeline import delivery, run_workspace, spark_schemas
from penstock.pipeline.delivery import BatchCounts, deliver
from penstock.pipeline.partition_matcher import PartitionMatcher
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.delta import WrittenFile, commit_batch
from penstock.workspace.index_versions import write_shards, write_version
from penstock.workspace.pipeline_tables import Tables
from support.spark.example_tables import START, document_table, expected_matches, subscription_table
from support.spark.injected_faults import FaultyMatcher

QUERIES = {"anna.all": "/news", "ben.two": "/news[. = 2]", "dora.words": "news 7"}
GOOD = [b"<news>%d</news>" % number for number in range(10)]
KILLERS = [b"<news><kill/>1</news>", b"<kill/>"]
CONTENTS = [GOOD[0], KILLERS[0], *GOOD[1:5], KILLERS[1], *GOOD[5:]]


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    created = Tables(str(tmp_path / "tables"))
    created.create()
    return created


@pytest.fixture(autouse=True)
def faults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "PartitionMatcher", FaultyMatcher)


def frame(spark: SparkSession, contents: list[bytes]) -> DataFrame:
    rows = spark.createDataFrame(document_table(contents), spark_schemas.DOCUMENTS)
    return rows.repartition(2)


def rows_of(table: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(table).to_pyarrow_table().to_pylist()
    return rows


def delivered(tables: Tables) -> list[tuple[str, str]]:
    return sorted((row["document"], row["subscription"]) for row in rows_of(tables.deliveries))


class Killed(Exception):  # noqa: N818
    """Stands for the end of the driver."""


def test_documents_beside_one_that_kills_its_worker_are_delivered_once(
    spark: SparkSession, tables: Tables, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = write_version(str(tmp_path / "indexes"), subscription_table(QUERIES))
    documents = frame(spark, CONTENTS)

    def commit_documents_and_die(
        table: str, files: Iterable[WrittenFile], *, stream: str, batch: int
    ) -> bool:
        commit_batch(table, files, stream=stream, batch=batch)
        raise Killed

    monkeypatch.setattr(delivery, "commit_batch", commit_documents_and_die)
    with pytest.raises(Killed):
        deliver(documents, version, tables, stream="s", batch=0, at=START)
    # A replay would accept the documents if their fault has disappeared, but the first table is
    # committed without them.
    monkeypatch.setattr(delivery, "commit_batch", commit_batch)
    monkeypatch.setattr(delivery, "PartitionMatcher", PartitionMatcher)
    counts = deliver(documents, version, tables, stream="s", batch=0, at=START)
    assert counts == BatchCounts(
        documents=12, matched=10, unmatched=0, dead=2, deliveries=12, bytes=sum(map(len, CONTENTS))
    )
    assert delivered(tables) == sorted(expected_matches(QUERIES, document_table(GOOD)))
    assert sorted(row["content"] for row in rows_of(tables.documents)) == GOOD
    dead = rows_of(tables.dead_letters)
    assert sorted(row["content"] for row in dead) == sorted(KILLERS)
    assert {row["code"] for row in dead} == {"internal.worker"}
    assert {row["message"] for row in dead} == {
        "the process of the document was ended by SIGKILL, 2 times"
    }
    sizes = {json.loads(row["report"])["document"]["bytes"] for row in dead}
    assert sizes == {len(content) for content in KILLERS}
    assert deliver(documents, version, tables, stream="s", batch=0, at=START) is None
    assert not list(Path(tables.root, "quarantine").rglob("*.json")), "the batch is complete"


def test_a_document_that_fails_in_one_shard_is_refused_by_all(
    spark: SparkSession, tables: Tables, tmp_path: Path
) -> None:
    failing = b"<news><raise/>2</news>"
    versions = write_shards(str(tmp_path / "indexes"), subscription_table(QUERIES), 2)
    documents = frame(spark, [*GOOD, failing, KILLERS[0]])
    counts = deliver(documents, versions, tables, stream="s", batch=0, at=START)
    assert counts is not None
    assert (counts.documents, counts.matched, counts.dead) == (12, 10, 2)
    assert delivered(tables) == sorted(expected_matches(QUERIES, document_table(GOOD)))
    assert sorted(row["content"] for row in rows_of(tables.documents)) == GOOD
    assert {row["content"]: row["code"] for row in rows_of(tables.dead_letters)} == {
        failing: "internal.error",
        KILLERS[0]: "internal.worker",
    }


def test_a_stream_continues_past_a_document_that_kills_its_worker(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Workspace.create(tmp_path / "workspace") as workspace:
        workspace.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="/news"))
        for contents in (CONTENTS[:6], GOOD[5:]):
            workspace.publish(Document(each, Header(publisher="wire")) for each in contents)
        config = RunConfig(documents_per_batch=1)
        run_workspace(spark, workspace, config).awaitTermination()
        status = workspace.status()
        assert (status.documents, status.matched, status.dead) == (11, 10, 1)
        assert workspace.mailbox("anna").deliveries().num_rows == 10
        assert [each.code for each in workspace.dead_letters.all()] == ["internal.worker"]
