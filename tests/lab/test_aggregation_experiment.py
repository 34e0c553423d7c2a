"""The aggregation experiment, at a small scale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.lab import aggregation
from penstock.lab.aggregation import QUICK, RandomNeighbours, by_bound
from penstock.routing import Pattern

TINY = replace(QUICK, members=12, drawn=200, synopsis_documents=6, held_back_documents=10)


def silent(_what: str) -> None:
    pass


def test_false_forwards_are_measured_by_bound() -> None:
    table = by_bound(TINY, silent)
    assert table.chart is not None
    assert {table.chart.panel, table.chart.x, *table.chart.lines} <= set(table.columns)
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [row["bound %"] for row in rows] == 2 * list(TINY.bound_percents)
    for row in rows:
        nodes, bound = row["nodes"], row["bound"]
        assert isinstance(nodes, int)
        assert isinstance(bound, int)
        assert nodes <= bound
        if row["bound %"] == 100:
            assert row["exact"] == row["patterns"]
            assert row["near pairs"] == row["random pairs"] == 0


def test_random_neighbours_are_others() -> None:
    source = RandomNeighbours()
    patterns = [Pattern.of_path(f"/a{number}") for number in range(4)]
    for pattern in patterns:
        source.add(pattern)
    source.discard(patterns[0])
    source.discard(patterns[0])
    near = source.nearest(patterns[1])
    assert set(near) == set(patterns[2:])


def test_a_quick_run_has_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregation, "QUICK", replace(TINY, bound_percents=(100,)))
    results = aggregation.run(quick=True, progress=silent)
    assert [table.key for table in results.tables] == ["bound"]
