"""`penstock run` and `penstock status`."""

from __future__ import annotations

import json
import os
import signal
import threading
from contextlib import nullcontext
from pathlib import Path

import pytest
from pyspark.errors import PySparkException

from penstock.errors import error
from support.fixtures.commands import penstock, penstock_process
from support.fixtures.repository import ROOT
from support.fixtures.terminal import penstock_in_terminal

ALERTS = ROOT / "examples" / "alerts"


def example_workspace(folder: Path) -> str:
    """Creates a workspace with the example's documents and subscriptions, one by keywords."""
    workspace = str(folder / "wire")
    documents = sorted(str(path) for path in (ALERTS / "documents").glob("*.xml"))
    assert penstock("init", workspace).code == 0
    imported = penstock(
        "subscriptions", "import", str(ALERTS / "subscriptions.txt"), "-w", workspace
    )
    assert imported.code == 0
    words = ("--keywords", "storm surge tide")
    assert penstock("subscribe", "coastguard", *words, "-w", workspace).code == 0
    published = penstock("publish", *documents, "--publisher", "example", "-w", workspace)
    assert published.code == 0
    return workspace


def test_a_run_delivers_and_prints_a_summary(tmp_path: Path) -> None:
    workspace = example_workspace(tmp_path)
    done = penstock_process("run", "--json", "-w", workspace)
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    assert {name: summary[name] for name in ("documents", "matched", "unmatched", "dead")} == {
        "documents": 12,
        "matched": 9,
        "unmatched": 1,
        "dead": 2,
    }
    assert summary["deliveries"] == 51
    assert "starting Spark\nreading the inbox\n" in done.err
    status = json.loads(penstock("status", "--json", "-w", workspace).out)
    assert (status["documents"], status["waiting"], status["deliveries"]) == (12, 0, 51)
    assert status["mailboxes"]["strong-quake"] == 1
    (surge,) = penstock("mailbox", "coastguard", "--json", "-w", workspace).rows
    (part,) = surge["fragments"]
    assert (part["kind"], surge["sequence"]) == ("path", 4)
    assert part["xml"] == (
        '<info xmlns="urn:oasis:names:tc:emergency:cap:1.2"><event>Storm surge</event>'
        "<headline>Surge now expected at high tide</headline></info>"
    )
    late = penstock("subscribe", "late", "//*:alert", "--backfill", "-w", workspace)
    assert late.code == 0, late.err
    again = penstock_process("run", "-w", workspace)
    assert again.out.startswith("0 documents: 0 matched, 0 unmatched, 0 dead; 0 deliveries")
    assert again.err.splitlines()[-1] == "and 7 deliveries of earlier documents (backfill)"


def test_a_terminal_shows_what_a_run_does(tmp_path: Path) -> None:
    code, written = penstock_in_terminal("run", "-w", example_workspace(tmp_path))
    assert code == 0, written
    # From the first second on, with the numbers of batches and of documents in progress.
    first, *_ = written.partition("starting Spark")
    assert "\n" not in first.strip(), first
    assert "reading the inbox" in written
    assert "in progress" in written
    assert "12 documents: 9 matched, 1 unmatched, 2 dead; 51 deliveries" in written
    assert "Traceback" not in written


def test_a_workspace_before_its_first_run(tmp_path: Path) -> None:
    workspace = example_workspace(tmp_path)
    shown = penstock("status", "-w", workspace).out.splitlines()
    assert shown == [
        "21 subscriptions",
        "0 documents: 0 matched, 0 unmatched, 0 dead; 12 waiting",
        "0 deliveries in 0 mailboxes",
    ]


def test_a_missing_java_is_reported_before_anything_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = example_workspace(tmp_path)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    done = penstock("run", "-w", workspace)
    assert done.code == 3
    assert "pipeline.java" in done.err
    assert "apt install" in done.err


def test_master_and_remote_exclude_each_other(tmp_path: Path) -> None:
    done = penstock(
        "run", "--master", "local", "--remote", "sc://x", "-w", example_workspace(tmp_path)
    )
    assert done.code == 2


@pytest.mark.parametrize(
    ("cause", "is_shown"),
    [
        (OSError(28, "No space left on device"), True),
        (PySparkException("Job aborted: ... ValueError: a defect"), True),
        (PySparkException("Job aborted: ... KeyboardInterrupt"), False),
        (PySparkException("Python worker exited unexpectedly (crashed)"), False),
    ],
    ids=["disk", "defect", "interrupted", "lost worker"],
)
def test_a_failure_that_coincides_with_ctrl_c_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: Exception, *, is_shown: bool
) -> None:
    def failing(*_: object, stop: threading.Event, **__: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert stop.wait(60)
        raise error("pipeline.failed", "the cause of the failure") from cause

    monkeypatch.setattr("penstock.cli.commands.run.check_java", lambda _: None)
    monkeypatch.setattr("penstock.pipeline.session.session", lambda **_: nullcontext())
    monkeypatch.setattr("penstock.pipeline.run.run", failing)
    workspace = str(tmp_path / "wire")
    assert penstock("init", workspace).code == 0
    done = penstock("run", "-w", workspace)
    assert ("the cause of the failure" in done.err) == is_shown
    assert ("stopped; 0 documents waiting" in done.err) != is_shown
    assert done.code != 0
