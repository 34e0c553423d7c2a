"""Sweeps over configurations and seeds as a Spark job."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from penstock.lab.overlay.overlay_runs import Policy
from penstock.lab.overlay.seed_estimates import estimate
from penstock.lab.overlay.sweep import SweepScale, run_rows
from penstock.lab.overlay.sweep_rows import BUCKETS, SIENA_LINES, SweepResult, SweepRow, measure
from penstock.lab.overlay.sweep_tables import SweepTables
from penstock.pipeline.numbered_tasks import NumberedTasks

TINY = SweepScale(nodes=12, documents=60, fan_outs=(2,), seeds=(1, 2))


def test_a_job_finds_what_single_runs_find(spark: SparkSession, tmp_path: Path) -> None:
    rows = [row for row in TINY.rows() if row.data in {BUCKETS, "protein"}]
    assert len(rows) == 2 * (len(Policy) + len(SIENA_LINES)) * 2
    results = run_rows(NumberedTasks(spark), rows, tmp_path)
    # Both lines of the baseline are of one run.
    assert len(list(tmp_path.glob("**/*.pickle"))) == 2 * (len(Policy) + 1) * 2
    assert run_rows(NumberedTasks(spark), rows, tmp_path) == results
    assert [each.number for each in results] == list(range(len(rows)))
    for number in (0, len(rows) - 1):
        assert results[number] == measure(number, rows[number])
    assert len({each.overhead for each in results}) > len(rows) // 2, "seeds differ"
    tables = SweepTables(rows, results, "tiny")
    table = tables.by_fan_out()
    assert table.column("data") == [BUCKETS, "protein"]
    assert table.chart is not None
    assert set(table.chart.lines) <= set(table.columns)
    assert set(SIENA_LINES) <= set(table.columns)
    # Everything that is collected is in a table.
    measures = tables.measures()
    assert len(measures.rows) == 2 * len(Policy)
    moves = dict(zip(measures.column("policy"), measures.column("moves"), strict=True))
    assert moves[Policy.NONE] == 0
    assert all(isinstance(depth, float) and depth >= 1 for depth in measures.column("depth"))
    assert {row[0] for row in tables.claims().rows} == {"Fig. 8", "Fig. 11", "Fig. 14", "beyond"}
    assert run_rows(NumberedTasks(spark), []) == []


def test_confidence_intervals() -> None:
    assert estimate([2.0]).half_width == math.inf
    found = estimate([1.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(12.706)
    assert estimate([0.5] * 20).half_width == 0.0
    many = estimate([float(number % 2) for number in range(100)])
    assert many.half_width == pytest.approx(0.0985, abs=0.001)


def test_claims_are_decided_by_their_intervals() -> None:
    overheads = {
        "low": (0.10, 0.11, 0.12),
        "high": (0.50, 0.52, 0.54),
        "scattered": (0.05, 0.30, 0.60),
    }
    holds = {}
    for name, values in overheads.items():
        rows, results = [], []
        for seed, ours in enumerate(values):
            for policy in (*Policy, *SIENA_LINES):
                rows.append(SweepRow("protein", policy, 4, 10, 10, seed))
                overhead = ours if policy == Policy.OURS else 0.4
                results.append(SweepResult(len(rows), overhead, overhead, 3.0, 5, 100))
        claims = SweepTables(rows, results, "").claims()
        [found] = [row for row in claims.rows if row[0] == "beyond" and row[4] == Policy.OURS]
        holds[name] = found[-1]
    assert holds == {"low": "yes", "high": "no", "scattered": "open"}
