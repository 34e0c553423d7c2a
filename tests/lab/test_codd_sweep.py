"""Sweeps over configurations and seeds as a Spark job."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from pyspark.sql import SparkSession

from penstock.lab.overlay.overlay_runs import Policy
from penstock.lab.overlay.sweep import BUCKETS, SweepScale, estimate, measure, run_rows, table_of
from penstock.pipeline.numbered_tasks import NumberedTasks

TINY = SweepScale(nodes=12, documents=60, fan_outs=(2,), seeds=(1, 2))


def test_a_job_finds_what_single_runs_find(spark: SparkSession, tmp_path: Path) -> None:
    rows = [row for row in TINY.rows() if row.data in {BUCKETS, "protein"}]
    assert len(rows) == 2 * len(Policy) * 2
    results = run_rows(NumberedTasks(spark), rows, tmp_path)
    assert len(list(tmp_path.iterdir())) == len(rows)
    assert run_rows(NumberedTasks(spark), rows, tmp_path) == results
    assert [each.number for each in results] == list(range(len(rows)))
    for number in (0, len(rows) - 1):
        assert results[number] == measure(number, rows[number])
    assert len({each.overhead for each in results}) > len(rows) // 2, "seeds differ"
    table = table_of(TINY, rows, results)
    assert table.column("data") == [BUCKETS, "protein"]
    assert table.chart is not None
    assert set(table.chart.lines) <= set(table.columns)
    assert run_rows(NumberedTasks(spark), []) == []


def test_confidence_intervals() -> None:
    assert estimate([2.0]).half_width == math.inf
    found = estimate([1.0, 3.0])
    assert found.mean == 2.0
    assert found.half_width == pytest.approx(12.706)
    assert estimate([0.5] * 20).half_width == 0.0
    many = estimate([float(number % 2) for number in range(100)])
    assert many.half_width == pytest.approx(0.0985, abs=0.001)
