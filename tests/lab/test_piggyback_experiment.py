"""The piggyback experiment, at a small scale."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.lab.experiments import RESUMABLE
from penstock.lab.routing import piggyback
from penstock.lab.routing.piggyback import Experiment
from penstock.lab.routing.piggyback_runs import SettingRunner, choose_queries
from penstock.lab.routing.piggyback_settings import FULL, NONE, QUICK, SIDES, Setting
from penstock.routing import AnnotationKind
from penstock.routing.limits import AGGREGATE_NODES_MAX, ANNOTATION_REPORT_DOCUMENTS
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
    percents=(10, 50),
    selective_documents=20,
    pool=10_000,
    bounds=(200, 2_000),
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


def test_rounds_are_long_enough_to_choose_kinds() -> None:
    # Routers change kinds after a report, so that a round of one report has the kinds of before.
    for scale in (FULL, QUICK):
        settings = Experiment(scale, silent).settings()
        assert min(each.documents for each in settings) >= 2 * ANNOTATION_REPORT_DOCUMENTS
        assert min(scale.percents) * scale.selective_documents >= 100, "a share is a document"


@pytest.mark.parametrize("wanted", [0, 1, 7, 60, 100])
def test_queries_are_chosen_that_match_exactly_the_wanted_documents(wanted: int) -> None:
    chance = random.Random(wanted)
    # Some queries match one document, some match many, and most match none.
    matched_by = [frozenset({document}) for document in range(100)]
    matched_by += [frozenset(chance.sample(range(100), 30)) for _ in range(50)]
    matched_by += [frozenset[int]()] * 300
    for seed in range(5):
        chosen = choose_queries(matched_by, wanted, 150, random.Random(seed))
        assert len(set(chosen)) == 150
        assert len(frozenset[int]().union(*(matched_by[each] for each in chosen))) == wanted


def test_a_share_that_no_queries_have_is_refused() -> None:
    with pytest.raises(ValueError, match="1 queries match 0 documents, not 1 queries 1"):
        choose_queries([frozenset({1, 2}), frozenset()], 1, 1, random.Random(1))
    with pytest.raises(ValueError, match="2 queries match 2 documents, not 3 queries 2"):
        choose_queries([frozenset({1, 2}), frozenset()], 2, 3, random.Random(1))


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
        elif cells["annotations"] == "match-list" and cells["bound"] == AGGREGATE_NODES_MAX:
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
    # The routers' subscribers get the share of the documents that the table states.
    selectivity = experiment.speedups(experiment.by_selectivity())
    assert selectivity.column("wanted %") == list(TINY.percents)
    assert selectivity.column("least wanted %") == list(TINY.percents)
    assert selectivity.column("most wanted %") == list(TINY.percents)
    assert selectivity.column("subscriptions of each") == [60, 60]
    lengths = experiment.speedups(experiment.by_length())
    assert lengths.column("subscriptions of each") == [60, 60]
    short, long = lengths.column("transport µs")
    assert isinstance(short, float)
    assert isinstance(long, float)
    assert 0 <= short < long, "more links are crossed"
    assert lengths.column("spread %") == [0, 0], "there is one repeat"
    shares = experiment.shares(experiment.by_bound())
    assert shares.column("bound") == 3 * [200, 2_000]
    wasted = [row[-1] for row in shares.rows if row[0] == "false forwards %"]
    assert wasted == [false_forwards["merged"], 0]
    # A later run goes on from what is finished.
    measured = len(said)
    later = Experiment(TINY, said.append, tmp_path)
    assert later.grid().rows == grid.rows
    assert len(said) == measured


def test_an_interrupted_run_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        piggyback, "QUICK", replace(TINY, percents=(), tree_depths=(), bounds=(200,))
    )
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
    varied = ["length", "tree", "subscriptions", "selectivity", "bound"]
    plotted = [f"{each}-shares" for each in varied]
    assert keys == ["kinds", *varied, *plotted, "grid", "transport"]
    for table in results.tables:
        if table.chart is not None:
            columns = {table.chart.panel, table.chart.x, *table.chart.lines}
            assert columns <= set(table.columns)
