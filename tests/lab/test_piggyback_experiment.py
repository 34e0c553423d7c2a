"""The piggyback experiment, at a small scale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.lab.experiments import RESUMABLE
from penstock.lab.routing import piggyback
from penstock.lab.routing.piggyback import Experiment
from penstock.lab.routing.piggyback_runs import SettingRunner
from penstock.lab.routing.piggyback_settings import FULL, NONE, QUICK, SIDES, Setting
from penstock.routing import AnnotationKind
from support.contracts.native_engines import needs_native

pytestmark = needs_native

TINY = replace(
    QUICK,
    documents=10,
    repeats=1,
    lengths=(2, 4),
    tree_depths=(2,),
    per_router=60,
    per_tree_router=60,
    subscriptions=(60, 150),
    percents=(50,),
    pool=2_000,
    merged_nodes=200,
    large_from=500,
    large_documents=5,
)


def silent(_what: str) -> None:
    pass


def test_the_full_grid_is_that_of_the_plan() -> None:
    settings = Experiment(FULL, silent).settings()
    assert len(set(settings)) == len(settings), "each is measured once"
    chains = {each.routers for each in settings if each.shape == "chain"}
    assert chains == set(range(2, 9))
    assert max(each.routers for each in settings if each.shape == "tree") == 63
    counts = [each.per_router for each in settings if each.percent is None]
    assert (min(counts), max(counts)) == (100, 100_000)
    percents = [each.percent for each in settings if each.percent is not None]
    assert (min(percents), max(percents)) == (0.1, 50)
    assert {NONE, *map(str, AnnotationKind)} < SIDES.keys()
    # The links of a shape have the number of routers that it names.
    for each in settings:
        assert len({name for ends in each.links for name in ends}) == each.routers


def test_all_networks_are_measured_with_each_choice_of_annotations(tmp_path: Path) -> None:
    said: list[str] = []
    experiment = Experiment(TINY, said.append, tmp_path)
    experiment.measure()
    grid = experiment.grid()
    settings = experiment.settings()
    assert len(grid.rows) == len(settings) * len(SIDES)
    assert grid.column("annotations") == len(settings) * list(SIDES)
    for row in grid.rows:
        cells = dict(zip(grid.columns, row, strict=True))
        assert isinstance(cells["µs a document"], float)
        assert cells["µs a document"] > 0
        if cells["annotations"] == NONE:
            assert (cells["speedup"], cells["not read %"], cells["header %"]) == (1, 0, 0)
        elif cells["annotations"] == "match-list" and cells["announced sets"] == "complete":
            assert cells["not read %"] == (100 if cells["header %"] else 0)
    assert max(cell or 0 for cell in grid.column("not read %")) == 100
    assert grid.column("documents").count(5) == len(SIDES), "large networks route fewer documents"
    kinds = experiment.by_kind()
    false_forwards = dict(
        zip(kinds.column("announced sets"), kinds.column("false forwards %"), strict=True)
    )
    assert false_forwards["complete"] == 0
    assert isinstance(false_forwards["merged"], float)
    assert false_forwards["merged"] > 0
    # A later run goes on from what is finished.
    measured = len(said)
    later = Experiment(TINY, said.append, tmp_path)
    assert later.grid().rows == grid.rows
    assert len(said) == measured


def test_an_interrupted_run_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(piggyback, "QUICK", replace(TINY, percents=(), tree_depths=()))
    original, calls = SettingRunner.__call__, []

    def interrupted(runner: SettingRunner, setting: Setting) -> object:
        calls.append(setting)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(runner, setting)

    monkeypatch.setattr(SettingRunner, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        RESUMABLE["piggyback"](quick=True, progress=silent, finished=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    results = RESUMABLE["piggyback"](quick=True, progress=silent, finished=tmp_path)
    assert len(calls) == len(set(calls)) + 1, "only the interrupted one is measured again"
    keys = [table.key for table in results.tables]
    assert keys == ["kinds", "length", "tree", "subscriptions", "selectivity", "grid", "transport"]
    for table in results.tables:
        if table.chart is not None:
            columns = {table.chart.panel, table.chart.x, *table.chart.lines}
            assert columns <= set(table.columns)
