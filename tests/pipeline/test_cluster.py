"""The pipeline on a standalone cluster, and through a Spark Connect server."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from penstock.documents import Document, Header
from penstock.workspace import StoredSubscription, Workspace
from support.spark.cluster import EXECUTOR_SETTINGS, SPARK_HOME, SparkCluster
from support.spark.committed_counts import CommittedCounts
from support.spark.example_tables import document_table, expected_matches
from support.spark.pipeline_process import PipelineProcess
from support.spark.session import require_java
from support.spark.subprocess_clients import match_and_deliver, run_in_subprocess
from support.strategies.query_kinds import kind_of

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in Linux's /proc"),
    # In one process, so that they share one cluster.
    pytest.mark.spark,
]

QUERIES = {
    "anna.all": "/news",
    "ben.even": "/news[@even]",
    "carl.late": "/news[. > 8]",
    "dora.words": "even news",
    "dora.any": "3 OR 7 OR 8",
}
CONTENTS = [b"<news%s>%d</news>" % (b" even=''" * (1 - n % 2), n) for n in range(12)]
EXPECTED = expected_matches(QUERIES, document_table(CONTENTS))
WAIT_SECONDS_MAX = 300


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    require_java()
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="module")
def server(cluster: SparkCluster) -> str:
    return cluster.start_connect_server()


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path / "workspace") as created:
        yield created


def subscribe(workspace: Workspace, *names: str) -> None:
    for name in names:
        subscriber, query = name.partition(".")[0], QUERIES[name]
        workspace.subscriptions.add(
            StoredSubscription(id=name, subscriber=subscriber, kind=kind_of(query), query=query)
        )


def publish(workspace: Workspace, contents: list[bytes]) -> None:
    """Publish documents in files of two, and so in batches of two."""
    for start in range(0, len(contents), 2):
        chunk = contents[start : start + 2]
        workspace.publish(Document(each, Header(publisher="wire")) for each in chunk)


def delivered(workspace: Workspace) -> list[tuple[str, str]]:
    rows = DeltaTable(workspace.tables.deliveries).to_pyarrow_table().to_pylist()
    return sorted((row["document"], row["subscription"]) for row in rows)


def finished_batches(run: PipelineProcess) -> int:
    """The number of batches that the command reported as finished."""
    return len(re.findall(r"^batch \d", run.output(), re.MULTILINE))


def wait_until(condition: Callable[[], bool], run: PipelineProcess) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert not run.ended, run.output()
        assert time.monotonic() < deadline, run.output()
        time.sleep(0.01)


def test_pip_pyspark_has_no_start_scripts() -> None:
    # If this fails, the how-to page can describe a simpler way.
    assert (SPARK_HOME / "bin" / "spark-class").exists()
    assert not (SPARK_HOME / "sbin" / "start-master.sh").exists()
    assert not (SPARK_HOME / "sbin" / "start-worker.sh").exists()


def test_an_invalid_master_is_reported_as_one_error(workspace: Workspace, tmp_path: Path) -> None:
    require_java()
    with PipelineProcess(workspace.path, tmp_path / "run", "--master", "nonsense") as run:
        assert run.wait() > 0
    assert "Spark did not start" in run.output()
    assert "pipeline.failed" in run.output()
    assert "Traceback" not in run.output()


def test_a_cluster_that_loses_a_worker_delivers_everything(
    cluster: SparkCluster, workspace: Workspace, tmp_path: Path
) -> None:
    subscribe(workspace, *QUERIES)
    publish(workspace, CONTENTS)
    counts = CommittedCounts(workspace.path)
    with PipelineProcess(
        workspace.path,
        tmp_path / "run",
        *("--master", cluster.master, "--documents-per-batch", "1"),
        *("--conf", "spark.driver.host=127.0.0.1"),
        *EXECUTOR_SETTINGS,
    ) as run:
        wait_until(lambda: counts.documents() > 0, run)
        cluster.kill_worker()
        assert counts.documents() < len(CONTENTS), "the worker was killed too late"
        assert run.wait() == 0, run.output()
    cluster.start_workers(1)  # for the next test
    assert delivered(workspace) == sorted(EXPECTED)


def test_a_batch_through_a_connect_server(server: str, tmp_path: Path) -> None:
    matched, delivered_pairs = run_in_subprocess(
        match_and_deliver, server, tmp_path, CONTENTS, QUERIES
    )
    assert matched == delivered_pairs == EXPECTED


def test_subscriptions_change_and_a_worker_dies_during_a_stream_through_a_connect_server(
    server: str, workspace: Workspace, tmp_path: Path
) -> None:
    first, then = ("anna.all", "ben.even", "dora.words"), ("anna.all", "carl.late", "dora.any")
    subscribe(workspace, *first)
    publish(workspace, CONTENTS[:6])
    counts = CommittedCounts(workspace.path)
    options = ("--remote", server, "--documents-per-batch", "2", "--follow")
    with PipelineProcess(workspace.path, tmp_path / "run", *options) as run:
        wait_until(lambda: counts.documents() == 6, run)
        workspace.subscriptions.remove(["ben.even", "dora.words"])
        subscribe(workspace, "carl.late", "dora.any")
        publish(workspace, [*CONTENTS[6:], b"<news><kill/></news>"])
        wait_until(lambda: counts.documents() == 13, run)
        # The listener runs in the client, not in the server.
        wait_until(lambda: finished_batches(run) == 7, run)
        assert run.terminate() == 0, run.output()
    expected = [
        expected_matches({name: QUERIES[name] for name in names}, document_table(contents))
        for names, contents in ((first, CONTENTS[:6]), (then, CONTENTS[6:]))
    ]
    assert delivered(workspace) == sorted(expected[0] | expected[1])
    assert [letter.code for letter in workspace.dead_letters.all()] == ["internal.worker"]
