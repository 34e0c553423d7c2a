"""`penstock run` and signals: one line, no traces, and nothing lost."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.workspace import StoredSubscription, Workspace
from support.fixtures.commands import penstock
from support.spark.pipeline_process import PipelineProcess
from support.spark.session import require_java

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="finds processes in Linux's /proc"),
    pytest.mark.spark,
]

WAIT_SECONDS_MAX = 300

DOCUMENTS = 400
"""More than are delivered, ten in each batch, until a run has stopped."""


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    require_java()
    folder = tmp_path / "wire"
    with Workspace.create(folder) as created:
        created.subscriptions.add(StoredSubscription(id="all", subscriber="anna", query="//news"))
        for start in range(0, DOCUMENTS, 10):
            created.publish(
                Document(b"<news>%d</news>" % number, Header(publisher="wire"))
                for number in range(start, start + 10)
            )
    return folder


def wait_until(condition: Callable[[], bool], run: PipelineProcess) -> None:
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    while not condition():
        assert not run.ended, run.output()
        assert time.monotonic() < deadline, run.output()
        time.sleep(0.02)


def test_a_run_is_stopped_in_a_batch_and_while_it_waits(workspace: Path, tmp_path: Path) -> None:
    with PipelineProcess(workspace, tmp_path / "run", "--documents-per-batch", "10") as run:
        wait_until(lambda: "starting Spark" in run.output(), run)
        second = penstock("run", "-w", str(workspace))
        assert (second.code, second.out) == (3, "")
        assert "workspace.running" in second.err
        assert "starting Spark" not in second.err
        wait_until(lambda: "batch 0" in run.output(), run)
        # As a terminal does it: to all processes of the group, while the next batch is matched.
        assert run.interrupt() == 1, run.output()
        *_, stopped, summary = run.output().splitlines()
        assert stopped.startswith("stopped; ")
        assert " documents: " in summary
        assert "Traceback" not in run.output()
        assert "Exception" not in run.output()
    with PipelineProcess(workspace, tmp_path / "follow", "--follow") as run:
        wait_until(lambda: " 0 waiting" in run.output(), run)
        assert run.terminate() == 0, run.output()
        *_, stopped, _summary = run.output().splitlines()
        assert stopped == "stopped; 0 documents waiting for the next run"
        assert "Traceback" not in run.output()
    status = penstock("status", "--json", "-w", str(workspace)).rows[0]
    counts = (status["documents"], status["deliveries"], status["waiting"])
    assert counts == (DOCUMENTS, DOCUMENTS, 0)


def test_a_run_is_stopped_while_a_silent_server_is_connected_to(
    workspace: Path, tmp_path: Path
) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        PipelineProcess(
            workspace, tmp_path / "run", "--remote", f"sc://127.0.0.1:{silent.getsockname()[1]}"
        ) as run,
    ):
        wait_until(lambda: "starting Spark" in run.output(), run)
        assert run.terminate() == 1, run.output()
        assert f"stopped; {DOCUMENTS} documents waiting for the next run" in run.output()
