"""Histories of synchronisation as a Spark job."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.pipeline import history_replay, replay_histories
from penstock.sync.simulation import Divergence, HistorySummary, options_of_seed, run_history
from support.contracts.native_engines import needs_native
from support.fixtures.repository import ROOT
from support.spark.session import require_java

pytestmark = needs_native


def test_every_seed_is_replayed_once(spark: SparkSession) -> None:
    seeds = range(3, 15, 2)
    rows = replay_histories(spark, seeds, partitions=2).orderBy("seed").collect()
    assert [row["seed"] for row in rows] == list(seeds)
    for row in rows:
        assert row["failure"] is None
        summary = run_history(row["seed"], options_of_seed(row["seed"]))
        for name in history_replay.COUNTS:
            assert row[name] == getattr(summary, name)


def test_a_divergence_is_the_result_of_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def diverging(seed: int, options: object) -> HistorySummary:
        if seed == 2:
            raise Divergence("client1 differs")
        return HistorySummary(statements=seed)

    monkeypatch.setattr(history_replay, "run_history", diverging)
    rows = [history_replay._replayed(seed) for seed in (1, 2)]
    assert rows[0]["statements"] == 1
    assert rows[1] == {"seed": 2, "failure": "Divergence: client1 differs"}


@pytest.mark.spark
def test_the_long_run_as_a_spark_job(tmp_path: Path) -> None:
    require_java()
    report = tmp_path / "report.txt"
    command = [sys.executable, str(ROOT / "benchmarks" / "sync_histories.py"), "--spark=local[1]"]
    done = subprocess.run(
        [*command, "--first=7", "--histories=3", f"--report={report}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "histories: 3\n" in report.read_text(encoding="utf-8")
    assert "as a Spark job on local[1]" in report.read_text(encoding="utf-8")
