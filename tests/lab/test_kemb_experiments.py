"""The experiments of the KEMB paper, at the smallest scale: every table exists and is
consistent."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from penstock.cli.commands.lab import Experiment
from penstock.lab import experiment_plots, kemb
from penstock.lab.bench.keywords import index_of
from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults, ResultTable
from penstock.lab.experiments import EXPERIMENTS
from penstock.lab.kemb import effectiveness
from penstock.lab.kemb.effectiveness import below_root, relevance
from penstock.lab.kemb.scale import QUICK
from penstock.lab.keyword_baselines import answer_elements
from penstock.native import native
from support.fixtures.commands import penstock

needs_native = pytest.mark.skipif(native is None, reason="the native core is not built")

TINY = replace(
    QUICK,
    query_counts=(40, 80),
    word_counts=(3, 4),
    queries_a_word_count=10,
    queries_of_names=20,
    sizes=(4_000,),
    huge_bytes=40_000,
    huge_bytes_kemb=5_000,
    huge_counts=(40,),
    judged_documents=4,
    judged_queries=60,
)


def silent(_what: str) -> None:
    pass


@pytest.fixture(scope="module")
def tables() -> dict[str, ResultTable]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kemb, "QUICK", TINY)
        run = kemb.run(quick=True, progress=silent)
    assert "INEX" in run.missing[0]
    return {table.key: table for table in run.tables}


@needs_native
def test_every_figure_and_table_of_the_paper_is_reproduced(tables: dict[str, ResultTable]) -> None:
    figures = {f"fig{number}" for number in range(11, 19)}
    assert set(tables) == {*figures, "discards", "table3"}
    for table in tables.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        if table.chart is not None:
            drawn = {table.chart.panel, table.chart.x, *table.chart.lines}
            assert drawn <= set(table.columns)


@needs_native
def test_no_more_elements_are_discarded_than_exist(tables: dict[str, ResultTable]) -> None:
    for key in ("fig13", "fig15", "discards"):
        table = tables[key]
        for elements, discarded in zip(
            table.column("elements"), table.column("discarded"), strict=True
        ):
            assert isinstance(elements, float)
            assert isinstance(discarded, float)
            assert 0 <= discarded <= elements


@needs_native
def test_percentages_are_between_0_and_100(tables: dict[str, ResultTable]) -> None:
    shares = [
        *tables["fig17"].column("precision %"),
        *tables["fig18"].column("precision %"),
        *tables["table3"].column("precision %"),
        *tables["table3"].column("recall %"),
    ]
    assert all(
        share is None or (isinstance(share, float) and 0 <= share <= 100) for share in shares
    )


@pytest.mark.parametrize(
    ("path", "tail"),
    [
        ("/news/section/link", "//section/link"),
        ("//section[@style = 'wide']//link", "//section[@style = 'wide']//link"),
        ("/*/*/link[. = 'here']", "//link[. = 'here']"),
        ("/news[@lang = 'en']/*", None),
    ],
)
def test_a_path_is_cut_below_the_root(path: str, tail: str | None) -> None:
    assert below_root(path, "news") == tail


@pytest.mark.parametrize(
    ("path", "relevant"),
    [
        ("//a/b", [1, 4]),
        ("//a//c", [1, 4]),
        ("//a[@k = 'v']/*/c", [4]),
        ("//c", [3, 6]),
    ],
)
def test_relevant_elements_are_those_of_the_first_step_in_a_match(
    path: str, relevant: list[int]
) -> None:
    root = etree.fromstring("<r><a><b/><c/></a><a k='v'><b><c/></b></a><a/></r>")
    elements = list(root.iter())
    selected = root.getroottree().xpath(relevance(path))
    assert isinstance(selected, list)
    assert [element in selected for element in elements] == [
        number in relevant for number in range(len(elements))
    ]


@needs_native
def test_elements_are_numbered_as_answers_are() -> None:
    document = b"<r><!-- no --><s><t>x</t></s><s><t>y</t></s></r>"
    found = effectiveness._relevant(document, {"q": "//s/t[. = 'y']"})
    index = index_of(["s t y"])
    assert {"q0": tuple(found["q"])} == answer_elements(index.matcher(), document)


def test_the_command_names_every_experiment() -> None:
    assert {each.value for each in Experiment} == set(EXPERIMENTS)


@pytest.fixture
def small_experiment(monkeypatch: pytest.MonkeyPatch) -> None:
    table = ResultTable("table1", "Table 1", ("data", "recall"), (("news", 100),))

    def measure(*, quick: bool, progress: Progress) -> ExperimentResults:
        progress("measuring")
        return ExperimentResults("kemb", quick, this_machine(), (table,))

    monkeypatch.setitem(EXPERIMENTS, "kemb", measure)


@pytest.mark.usefixtures("small_experiment")
def test_tables_go_to_a_folder_and_to_stdout(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    done = penstock("lab", "run", "kemb", "--quick", "--output", str(tmp_path))
    assert done.code == 0
    assert "news     100" in done.out
    assert "measuring" in done.err.splitlines(), "progress, as this is not a terminal"
    assert str(tmp_path) in done.err
    assert {path.name for path in tmp_path.iterdir()} == {
        *("kemb.txt", "kemb.json", "kemb-table1.csv")
    }
    shown = penstock("lab", "run", "kemb", "--quick", "--output", str(tmp_path), "--json")
    assert shown.rows == [json.loads((tmp_path / "kemb.json").read_text(encoding="utf-8"))]


@pytest.mark.usefixtures("small_experiment")
def test_missing_matplotlib_is_refused_with_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_plots, "find_spec", lambda name: None)
    done = penstock("lab", "run", "kemb", "--output", str(tmp_path / "results"))
    assert done.code == 3
    assert "hint: " in done.err
    assert not (tmp_path / "results").exists()
