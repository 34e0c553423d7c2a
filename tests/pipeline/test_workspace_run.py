"""Runs of a workspace: from the inbox to the mailboxes."""

from __future__ import annotations

import contextlib
import dataclasses
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.pipeline.delivery_stream import BatchDelivery
from penstock.pipeline.inbox_stream import inbox_checkpoint, run_workspace
from penstock.pipeline.limits import INBOX_PARTITION_BYTES
from penstock.pipeline.progress import BatchProgress
from penstock.pipeline.run import run
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.commit_positions import ORDINAL_BITS
from penstock.workspace.layout import DATABASE
from penstock.workspace.status import sum_counts
from support.fixtures.commands import penstock
from support.fixtures.mediated_data import GERMAN, GLOBAL


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "workspace") as created:
        created.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="/news"))
        yield created


def publish(workspace: Workspace, numbers: Sequence[int]) -> None:
    workspace.publish(
        Document(b"<news>%d</news>" % number, Header(publisher="wire", id=str(number)))
        for number in numbers
    )


def drain(spark: SparkSession, workspace: Workspace) -> list[BatchProgress]:
    reported: list[BatchProgress] = []
    run(spark, workspace, RunConfig(documents_per_batch=2), reported.append)
    return reported


def delivered(workspace: Workspace) -> list[tuple[str, str]]:
    rows = DeltaTable(workspace.tables.deliveries).to_pyarrow_table().to_pylist()
    return sorted((row["subscription"], row["document"]) for row in rows)


def pairs(subscription: str, numbers: Sequence[int]) -> list[tuple[str, str]]:
    return [(subscription, f"wire/{number}") for number in numbers]


def test_a_run_continues_where_the_last_one_stopped(
    spark: SparkSession, workspace: Workspace
) -> None:
    publish(workspace, [0, 1])
    publish(workspace, [2])
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1, 2])
    publish(workspace, [2, 3])  # a document published again is skipped
    workspace.subscriptions.add(
        StoredSubscription(id="three", subscriber="ben", kind="keywords", query="news 3")
    )
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1, 2, 3]) + pairs("three", [3])


def test_a_lost_checkpoint_delivers_nothing_twice(
    spark: SparkSession, workspace: Workspace
) -> None:
    publish(workspace, [0, 1])
    drain(spark, workspace)
    shutil.rmtree(workspace.checkpoints / "inbox")
    publish(workspace, [2])
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1, 2])


def test_a_run_killed_while_it_wrote_its_first_offset_is_repeated(
    spark: SparkSession, workspace: Workspace
) -> None:
    offsets = inbox_checkpoint(workspace) / "offsets"
    offsets.mkdir(parents=True)
    (offsets / ".0.3e6c20c4-d0be-492e-aeae-b37cfea6a2de.tmp").write_text("v1")
    publish(workspace, [0, 1])
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1])


def test_a_backfill_delivers_past_documents_once(spark: SparkSession, workspace: Workspace) -> None:
    publish(workspace, [0, 1])
    drain(spark, workspace)
    workspace.subscriptions.add(
        StoredSubscription(id="late", subscriber="carl", query="/news", backfill="wanted")
    )
    drain(spark, workspace)  # without a new document
    assert delivered(workspace) == pairs("all", [0, 1]) + pairs("late", [0, 1])
    publish(workspace, [2])
    workspace.subscriptions.add(
        StoredSubscription(
            id="later", subscriber="carl", kind="keywords", query="news", backfill="wanted"
        )
    )
    drain(spark, workspace)  # the backfill runs before the batch of the new document
    everything = [0, 1, 2]
    assert delivered(workspace) == sorted(
        pairs("all", everything) + pairs("late", everything) + pairs("later", everything)
    )
    assert not workspace.subscriptions.backfills_wanted()


def test_a_backfill_omits_deliveries_of_an_earlier_subscription_of_that_name(
    spark: SparkSession, workspace: Workspace
) -> None:
    publish(workspace, [0, 1])
    drain(spark, workspace)
    workspace.subscriptions.remove(["all"])
    publish(workspace, [2])
    drain(spark, workspace)
    workspace.subscriptions.add(
        StoredSubscription(id="all", subscriber="anna", query="/news", backfill="wanted")
    )
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1, 2])


def test_a_backfill_omits_earlier_deliveries_of_every_file(
    spark: SparkSession, workspace: Workspace
) -> None:
    """A file without deliveries of that name is between two that have some."""
    again = StoredSubscription(id="all", subscriber="anna", query="/news")
    workspace.subscriptions.add(StoredSubscription(id="other", subscriber="ben", query="/news"))
    publish(workspace, [0])
    drain(spark, workspace)
    workspace.subscriptions.remove(["all"])
    publish(workspace, [1])
    drain(spark, workspace)
    workspace.subscriptions.add(again)
    publish(workspace, [2])
    drain(spark, workspace)
    workspace.subscriptions.remove(["all"])
    workspace.subscriptions.add(dataclasses.replace(again, backfill="wanted"))
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1, 2]) + pairs("other", [0, 1, 2])


def test_a_replayed_backfill_counts_its_deliveries(
    spark: SparkSession, workspace: Workspace
) -> None:
    publish(workspace, [0, 1])
    drain(spark, workspace)
    workspace.subscriptions.add(
        StoredSubscription(id="late", subscriber="carl", query="/news", backfill="wanted")
    )
    drain(spark, workspace)
    # As after a kill between the commits of deliveries and counts.
    max(Path(workspace.tables.counts, "_delta_log").glob("*.json")).unlink()
    with contextlib.closing(sqlite3.connect(workspace.path / DATABASE)) as database, database:
        database.execute("UPDATE subscriptions SET backfill = 'wanted' WHERE id = 'late'")
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0, 1]) + pairs("late", [0, 1])
    counts = DeltaTable(workspace.tables.counts).to_pyarrow_table(columns=["deliveries"])
    assert counts.column("deliveries").to_pylist() == [2, 2]


def test_documents_of_a_schema_registered_later_are_replayed_and_backfilled(
    spark: SparkSession, workspace: Workspace
) -> None:
    header = Header(publisher="wire", id="0", schema="nachrichten")
    workspace.publish([Document(b"<nachrichten/>", header)])
    assert drain(spark, workspace)[-1].counts.dead == 1
    (letter,) = workspace.dead_letters.all()
    assert letter.code == "mediation.schema"
    with workspace.mediation.changing() as mediator:
        mediator.add(GLOBAL)
        mediator.register("nachrichten", GERMAN)
    workspace.dead_letters.replay([letter])
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0])
    workspace.subscriptions.add(
        StoredSubscription(id="late", subscriber="carl", query="/news", backfill="wanted")
    )
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0]) + pairs("late", [0])


def test_documents_of_unknown_schemas_can_be_matched_as_is(
    spark: SparkSession, workspace: Workspace
) -> None:
    header = Header(publisher="wire", id="0", schema="anything")
    workspace.publish([Document(b"<news/>", header)])
    run(spark, workspace, RunConfig(unknown_schema="as-is"), lambda _: None)
    assert delivered(workspace) == pairs("all", [0])


def test_a_run_with_shards_delivers_the_same(spark: SparkSession, workspace: Workspace) -> None:
    for number in range(10):
        query = f"/news[. = {number % 3}]"
        workspace.subscriptions.add(
            StoredSubscription(id=f"s{number}", subscriber=f"r{number % 4}", query=query)
        )
    publish(workspace, [0, 1, 2, 3])
    run(spark, workspace, RunConfig(shards=3), lambda _: None)
    expected = pairs("all", [0, 1, 2, 3])
    for number in range(10):
        expected += pairs(f"s{number}", [number % 3])
    assert delivered(workspace) == sorted(expected)
    counts = sum_counts(workspace.tables)
    assert (counts["documents"], counts["matched"]) == (4, 4)


@pytest.mark.parametrize("shards", [0, 1_000])
def test_a_wrong_number_of_shards_is_refused(shards: int) -> None:
    with pytest.raises(PenstockError) as refused:
        RunConfig(shards=shards)
    assert refused.value.code == "pipeline.shards"


def test_deliveries_of_several_tasks_are_in_publishing_order(
    spark: SparkSession, workspace: Workspace
) -> None:
    """Each task writes its own; the numbers of the tasks follow the journal."""
    comment = b"<!--" + b"x" * (INBOX_PARTITION_BYTES // 2) + b"-->"
    workspace.publish(
        Document(b"<news>%d</news>%s" % (number, comment), Header(publisher="wire", id=str(number)))
        for number in range(4)
    )
    drain(spark, workspace)
    found = workspace.mailbox("anna").deliveries()
    assert found.column("sequence").to_pylist() == [1, 2, 3, 4]
    positions: list[Any] = found.column("position").to_pylist()
    numbers = [position >> ORDINAL_BITS for position in positions]
    first = numbers[0]
    assert numbers == [first, first, first + 1, first + 1], "a task for two documents"


def test_fragments_beyond_the_limit_of_a_subscription_are_reported(
    spark: SparkSession, workspace: Workspace
) -> None:
    for subscriber, limit in (("ben", 2), ("cleo", None)):
        workspace.subscriptions.add(
            StoredSubscription(
                subscriber=subscriber, query="//item", returns="fragments", fragments_max=limit
            )
        )
    content = b"<news>" + b"<item/>" * 5 + b"</news>"
    workspace.publish([Document(content, Header(publisher="wire", id="0"))])
    drain(spark, workspace)
    folder = ("--workspace", str(workspace.path))
    for subscriber, delivered_count, omitted in (("ben", 2, 3), ("cleo", 5, 0)):
        (row,) = penstock("mailbox", subscriber, "--json", *folder).rows
        assert (len(row["fragments"]), row["fragments_omitted"]) == (delivered_count, omitted)
    advice = "omitted: see penstock subscribe --fragments-max"
    assert f"3 more fragments {advice}" in penstock("mailbox", "ben", *folder).out
    assert "omitted" not in penstock("mailbox", "cleo", *folder).out
    (status,) = penstock("status", "--json", *folder).rows
    assert status["fragments_omitted"] == 3
    assert "3 fragments omitted from deliveries" in penstock("status", *folder).out


def test_concurrent_runs_are_refused(spark: SparkSession, workspace: Workspace) -> None:
    publish(workspace, [0])
    with workspace.lock("run"), pytest.raises(PenstockError) as refused:
        run_workspace(spark, workspace)
    assert refused.value.code == "workspace.running"
    query = run_workspace(spark, workspace, RunConfig(follow=True))
    with pytest.raises(PenstockError) as refused:
        run_workspace(spark, workspace)
    assert refused.value.code == "workspace.running"
    query.stop()
    run_workspace(spark, workspace).awaitTermination()  # released at once
    assert delivered(workspace) == pairs("all", [0])


def test_a_stream_whose_workers_start_too_late_is_started_again(
    spark: SparkSession, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(workspace, [0])
    deliver_batch = BatchDelivery.__call__
    monkeypatch.setattr("penstock.pipeline.run.WORKER_START_RETRIES_MAX", 2)
    failures_left = 3

    def fail_at_first(delivery: BatchDelivery, documents: DataFrame, batch: int) -> None:
        nonlocal failures_left
        if failures_left:
            failures_left -= 1
            raise RuntimeError("Python worker failed to connect back.")
        deliver_batch(delivery, documents, batch)

    monkeypatch.setattr(BatchDelivery, "__call__", fail_at_first)
    with pytest.raises(PenstockError) as failed:
        drain(spark, workspace)
    assert (failed.value.code, failures_left) == ("pipeline.failed", 0)
    failures_left = 2
    drain(spark, workspace)
    assert delivered(workspace) == pairs("all", [0])


def test_a_failed_run_gives_the_reason_and_loses_nothing(
    spark: SparkSession, workspace: Workspace
) -> None:
    publish(workspace, [0])
    workspace.publish([Document(b"<news>", Header(publisher="wire", id="broken"))])
    with pytest.raises(PenstockError) as failed:
        run(spark, workspace, RunConfig(mode="FAILFAST"), lambda _: None)
    assert failed.value.code == "pipeline.failed"
    assert "wire/broken" in failed.value.message
    assert "xml.unclosed" in failed.value.message
    assert drain(spark, workspace)[-1].counts.dead == 1
    assert delivered(workspace) == pairs("all", [0])


def test_progress_is_reported_for_every_batch(spark: SparkSession, workspace: Workspace) -> None:
    publish(workspace, [0, 1])
    publish(workspace, [2])
    reported = drain(spark, workspace)
    assert [(each.counts.documents, each.waiting) for each in reported] == [(2, 1), (1, 0)]
