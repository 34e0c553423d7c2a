"""The experiments of the CoDD paper, at a small scale."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.lab.overlay import codd
from penstock.lab.overlay.bucket_runs import (
    BucketConfiguration,
    Policy,
    run_overlay,
    run_siena,
)

TINY = BucketConfiguration(nodes=40, documents=300, k=8, selectivity=0.25, fan_out=3, window=60)


def silent(_what: str) -> None:
    pass


def test_a_run_is_repeatable_and_its_measures_agree() -> None:
    reorganised = replace(TINY, policy=Policy.OURS, reorganise_every=40, change_every=10_000)
    one, other = run_overlay(reorganised, points=10), run_overlay(reorganised, points=10)
    assert one == other
    assert len(one.over_time) == 10
    assert len(one.overheads) == len(one.depths) == 40
    assert one.overheads == sorted(one.overheads, reverse=True)
    assert 1 <= one.depths[-1] <= one.mean_depth <= one.depths[0]
    assert one.moves
    plain = run_overlay(replace(reorganised, policy=Policy.NONE))
    assert not plain.moves
    assert one.late_overhead < plain.late_overhead
    assert plain.interior_overhead > plain.system_overhead > 0


def test_brokers_see_the_same_documents() -> None:
    overheads = run_siena(TINY)
    assert len(overheads) == 10
    assert overheads == sorted(overheads, reverse=True)
    assert overheads == run_siena(TINY)


def test_a_quick_run_has_a_table_for_each_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    base = replace(TINY, documents=120)
    monkeypatch.setattr(codd, "QUICK", codd.Scale(base, (2, 4, 6), (20, 40), 60, 10))
    results = codd.run(quick=True, progress=silent)
    figures = [f"figure-{number}" for number in (7, 8, 9, 10, 11, 12, 15, 16)]
    assert [table.key for table in results.tables] == [*figures, "claims"]
    for table in results.tables[:-1]:
        assert table.chart is not None
        assert {table.chart.panel, table.chart.x, *table.chart.lines} <= set(table.columns)
        assert table.rows
    claims = results.tables[-1]
    assert set(claims.column("holds")) <= {"yes", "no"}
    assert "Fig. 16" in claims.column("figure")
