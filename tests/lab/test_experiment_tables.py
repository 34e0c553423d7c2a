"""Experiment results: tables as text, CSV and JSON, and plots."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.lab import experiment_plots
from penstock.lab.bench.machine_description import Machine
from penstock.lab.experiment_tables import Chart, ExperimentResults, ResultTable

MACHINE = Machine("a CPU", 2, 8.2, "Linux x86_64", "3.11.1", "rustc 1.88.0", "release")
TABLE = ResultTable(
    "fig1",
    "Fig. 1: speed",
    ("data", "queries", "ours", "theirs"),
    (("news", 1000, 1.5, 20.0), ("news", 2000, 1.6, None), ("treebank", 1000, 3.0, 70.0)),
    ("Milliseconds.",),
    Chart("data", "queries", ("ours", "theirs"), "ms", logarithmic=True),
)
WITHOUT_CHART = ResultTable("table1", "Table 1", ("data", "recall"), (("news", 100),))
RESULTS = ExperimentResults(
    "paper", False, MACHINE, (TABLE, WITHOUT_CHART), ("Table 2 cannot be had.",)
)


def test_a_table_is_aligned_and_marks_missing_values() -> None:
    assert list(TABLE.lines()) == [
        "Fig. 1: speed",
        "    data  queries  ours  theirs",
        "    news    1,000   1.5      20",
        "    news    2,000   1.6       -",
        "treebank    1,000     3      70",
        "Milliseconds.",
    ]


def test_results_are_written_as_text_json_and_csv(tmp_path: Path) -> None:
    RESULTS.write(tmp_path / "results")
    text = (tmp_path / "results" / "paper.txt").read_text(encoding="utf-8")
    assert text.startswith("penstock lab run paper\na CPU, 2 cores")
    assert text.endswith("\n\nTable 2 cannot be had.\n")
    data = json.loads((tmp_path / "results" / "paper.json").read_text(encoding="utf-8"))
    assert [each["key"] for each in data["found"]] == ["fig1", "table1"]
    csv = (tmp_path / "results" / "paper-fig1.csv").read_text(encoding="utf-8")
    assert csv.splitlines()[:3] == [
        "data,queries,ours,theirs",
        "news,1000,1.5,20.0",
        "news,2000,1.6,",
    ]


def test_charts_are_reproducible(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    experiment_plots.draw(RESULTS, tmp_path)
    (drawn,) = tmp_path.iterdir()
    assert drawn.name == "paper-fig1.svg"
    first = drawn.read_bytes()
    assert b"<svg" in first
    experiment_plots.draw(RESULTS, tmp_path)
    assert drawn.read_bytes() == first


def test_missing_matplotlib_is_reported_before_anything_is_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiment_plots, "find_spec", lambda name: None)
    with pytest.raises(PenstockError) as caught:
        experiment_plots.require_matplotlib()
    assert caught.value.code == "lab.plots"
    assert "penstock[lab]" in caught.value.hint
    assert isinstance(caught.value, ImportError)


def test_comparable_panels_share_a_scale() -> None:
    pytest.importorskip("matplotlib")
    assert TABLE.chart is not None
    apart = experiment_plots._figure(TABLE, TABLE.chart)
    assert len({axes.get_ylim()[1] for axes in apart.axes}) == 2
    alike = experiment_plots._figure(TABLE, replace(TABLE.chart, one_scale=True))
    assert len({axes.get_ylim()[1] for axes in alike.axes}) == 1
