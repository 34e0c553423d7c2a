"""The experiments of the CoDD paper, at a small scale."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock.lab.overlay import codd
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.codd_claims import SIENA, SIENA_PASSED_ON
from penstock.lab.overlay.fault_runs import FaultConfiguration, run_churn, run_disaster
from penstock.lab.overlay.informed_tree import informed_overhead
from penstock.lab.overlay.large_overlay import LargeConfiguration, run_large
from penstock.lab.overlay.overlay_runs import (
    Policy,
    run_overlay,
    run_siena,
)
from penstock.lab.overlay.run_store import RunStore
from penstock.lab.overlay.xml_configuration import XmlConfiguration, evaluated
from penstock.lab.overlay.xml_data import XML_DATA, XmlDataSet, characteristics
from penstock.lab.overlay.xml_figures import XmlScale
from penstock.schema import SchemaGraph

TINY = BucketConfiguration(nodes=40, documents=300, k=8, selectivity=0.25, fan_out=3, window=60)


def silent(_what: str) -> None:
    pass


def unexpected(_configuration: object) -> None:
    raise AssertionError("the run is finished")


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


def test_a_tree_built_with_all_documents_known() -> None:
    nested = [0b1, 0b11, 0b111, 0b111]
    assert informed_overhead(nested, fan_out=1) == 0
    # In a chain, the first of two peers receives the documents of the other as well.
    assert informed_overhead([0b0011, 0b1100], fan_out=1) == pytest.approx(2 / 6)
    assert informed_overhead([0b0011, 0b1100], fan_out=2) == 0
    assert informed_overhead([0, 0], fan_out=1) == 0


def test_brokers_see_the_same_documents() -> None:
    found = run_siena(TINY)
    assert found == run_siena(TINY)
    assert len(found.overheads) == len(found.passed_on) == 10
    assert found.overheads == sorted(found.overheads, reverse=True)
    assert 0 < found.passed_on_overhead < found.overhead < 1


def test_a_quick_run_has_a_table_for_each_figure(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    base = replace(TINY, documents=120)
    xml = XmlScale(12, 60, (2, 4))
    faults, large = (FaultConfiguration(nodes=30),), (LargeConfiguration(nodes=20, documents=200),)
    scale = codd.Scale(base, (2, 4, 6), (20, 40), 60, 10, xml, faults, large)
    monkeypatch.setattr(codd, "QUICK", scale)
    results = codd.run(quick=True, progress=silent, finished=tmp_path / "runs")
    figures = [f"figure-{number}" for number in range(7, 17)]
    assert [table.key for table in results.tables] == [
        *figures,
        "faults",
        "large",
        "claims",
    ]
    for table in results.tables[:-1]:
        if table.chart is None:
            assert table.key in {"figure-13", "faults", "large"}
            continue
        assert {table.chart.panel, table.chart.x, *table.chart.lines} <= set(table.columns)
        assert table.rows
    claims = results.tables[-1]
    assert set(claims.column("holds")) <= {"yes", "no"}
    told = {f"Fig. {number}" for number in (7, 8, 9, 10, 11, 12, 14, 15, 16)}
    assert told <= set(claims.column("figure"))
    assert {Policy.PAPER, Policy.OURS, SIENA, SIENA_PASSED_ON} <= set(claims.column("policy"))
    # All runs are finished: a second one reads them.
    for name in ("run_overlay", "run_siena", "run_faults", "run_large"):
        monkeypatch.setattr(codd, name, unexpected)
    assert codd.run(quick=True, progress=silent, finished=tmp_path / "runs") == results
    results.write(tmp_path)
    tree = (tmp_path / "codd-trees.svg").read_text()
    assert tree.count(": overhead ") == 2 * (base.nodes + 1)


def test_churn_and_a_disaster_lose_nothing() -> None:
    configuration = FaultConfiguration(nodes=40, fan_out=3)
    churn = run_churn(configuration, share=0.5)
    assert churn.seconds == sorted(churn.seconds)
    assert churn.repairs > 0
    assert churn == run_churn(configuration, share=0.5)
    disaster = run_disaster(configuration, cut_seconds=30.0)
    assert len(disaster.seconds) == disaster.peers == 27
    # The region is served only after its links have returned.
    assert sum(seconds >= 30.0 for seconds in disaster.seconds) >= 6
    assert disaster.delays[-1] >= 29.0


def test_many_peers_are_one_tree_that_gets_better() -> None:
    configuration = LargeConfiguration(nodes=120, documents=300, interval=100, fan_out=3)
    found = run_large(configuration)
    assert len(found.depths) == 120
    assert found.depths[-1] >= 4
    assert found.moves > 0
    assert found.last_overhead < found.first_overhead
    assert found.join_messages > 2
    again = run_large(configuration)
    assert (found.depths, found.moves, found.control_messages, found.joined_seconds) == (
        again.depths,
        again.moves,
        again.control_messages,
        again.joined_seconds,
    )


def test_finished_runs_are_kept(tmp_path: Path) -> None:
    calls: list[str] = []

    def length(text: str) -> int:
        calls.append(text)
        return len(text)

    store = RunStore(length, tmp_path / "runs")
    assert "four" not in store
    assert [store("four"), store("four"), store("three")] == [4, 4, 5]
    again = RunStore(length, tmp_path / "runs")
    assert "four" in again
    assert [again("four"), again("three"), again.computed] == [4, 5, 0]
    assert calls == ["four", "three"]
    # What was interrupted while it was written does not count.
    unfinished = tmp_path / "other"
    unfinished.mkdir()
    for path in (tmp_path / "runs").iterdir():
        (unfinished / path.with_suffix(".unfinished").name).write_bytes(b"")
    assert RunStore(length, unfinished)("four") == 4
    assert calls == ["four", "three", "four"]


def test_documents_are_matched_once_for_all_runs() -> None:
    data = replace(XML_DATA[1], seed=7)
    base = XmlConfiguration(
        data=data, nodes=15, documents=60, fan_out=2, reorganise_every=20, window=40
    )
    runs = {policy: run_overlay(replace(base, policy=policy)) for policy in Policy}
    known = evaluated(data, 60, 15)
    assert known.matcher.passes == 60
    assert 0 < known.selectivity() < 1
    assert known.matcher.passes == 60
    assert all(0 < found.system_overhead < 1 for found in runs.values())
    for found in runs.values():
        before, after = found.pictures
        assert len(before.depths()) == len(after.depths()) == 16


@pytest.mark.parametrize("data", XML_DATA, ids=lambda each: each.name)
def test_xml_data_has_the_characteristics_of_the_paper(data: XmlDataSet) -> None:
    documents = list(data.documents(100))
    found = characteristics(data, documents)
    assert found.elements == data.paper.elements
    assert found.depth_max == data.paper.depth_max
    assert found.depth_mean == pytest.approx(data.paper.depth_mean, rel=0.1)
    assert found.kilobytes == pytest.approx(data.paper.kilobytes, rel=0.25)
    selectivity = evaluated(data, 100, 200).selectivity()
    assert selectivity == pytest.approx(data.paper.selectivity, rel=0.25)
    schema = SchemaGraph.from_dtd(data.dtd())
    assert all(not element.attributes for element in schema.elements.values())
    assert [each.content for each in data.documents(3)] == [each.content for each in documents[:3]]
