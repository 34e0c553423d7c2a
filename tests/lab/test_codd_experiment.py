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
from penstock.lab.overlay.join_comparison import JoinScale
from penstock.lab.overlay.large_overlay import LargeConfiguration, run_large
from penstock.lab.overlay.overlay_runs import (
    OUR_EXAMINATIONS,
    OUR_THRESHOLD,
    OverlayRun,
    Policy,
    RunConfiguration,
    run_overlay,
    run_siena,
)
from penstock.lab.overlay.policy_comparison import (
    PolicyComparison,
    PolicyConfiguration,
    PolicyScale,
)
from penstock.lab.overlay.run_store import RunStore
from penstock.lab.overlay.xml_configuration import XmlConfiguration, evaluated
from penstock.lab.overlay.xml_data import XML_DATA, XmlDataSet, characteristics
from penstock.lab.overlay.xml_figures import XmlScale
from penstock.overlay import ChildChoice, Placement
from penstock.overlay.placement_search import Place, PlacementSearch
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


def test_primed_joins_are_placed_by_overlap() -> None:
    static = replace(TINY, documents=200, change_every=10_000, window=200)
    primed = replace(static, primed_documents=200)
    documents = [document.members for document in static.stream()]
    assert [document.members for document in primed.stream()] == documents
    priming = [document.members for document in primed.priming()]
    assert len(priming) == 200
    assert priming != documents
    assert not list(static.priming())
    before, after = run_overlay(static), run_overlay(primed)
    # Only the documents of the stream are measured, and they are the same.
    subscribed = [
        run.extraneous * (1 - run.system_overhead) / run.system_overhead for run in (before, after)
    ]
    assert subscribed[0] == pytest.approx(subscribed[1])
    assert before.first_overhead == before.system_overhead
    assert after.first_overhead < 0.9 * before.first_overhead
    assert len(after.joined_depths) == static.nodes
    # Nobody moves, so a node has one depth whatever it is weighted by.
    assert after.depths == after.received_depths == after.joined_depths


def test_xml_documents_of_the_priming_are_not_measured() -> None:
    base = XmlConfiguration(data=replace(XML_DATA[1], seed=7), nodes=15, documents=30)
    primed = replace(base, primed_documents=25)
    contents = [document.content for document in base.stream()]
    assert [document.content for document in primed.stream()] == contents
    priming = [document.content for document in primed.priming()]
    assert len(priming) == 25
    assert not set(priming) & set(contents)
    assert run_overlay(primed).over_time[-1][0] == 30


def test_depths_are_weighted_by_deliveries_and_by_receipts() -> None:
    run = run_overlay(replace(TINY, policy=Policy.OURS, reorganise_every=40))
    assert len(run.received_depths) == TINY.nodes
    assert run.received_depths != run.depths
    assert run.mean_received_depth == pytest.approx(run.mean_depth, rel=0.2)
    assert 1 <= run.received_depths[-1] <= run.received_depths[0]


def test_the_first_picture_is_that_of_the_joins() -> None:
    moving = replace(TINY, policy=Policy.OURS, reorganise_every=40)
    before, after = run_overlay(moving).pictures
    joined, _ = run_overlay(replace(moving, documents=1)).pictures
    assert [peer.parent for peer in before.peers] == [peer.parent for peer in joined.peers]
    assert [peer.parent for peer in after.peers] != [peer.parent for peer in before.peers]
    assert before.title.startswith("after the joins and ")
    assert before.mean_overhead() > 0


def displacements(configuration: BucketConfiguration, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many places were found in which another peer is displaced."""
    found = 0
    improvements = PlacementSearch.improvements

    def counted(search: PlacementSearch) -> list[Place]:
        nonlocal found
        places = improvements(search)
        found += sum(place.displaced is not None for place in places)
        return places

    with monkeypatch.context() as patched:
        patched.setattr(PlacementSearch, "improvements", counted)
        run_overlay(configuration)
    return found


def test_policies_differ_in_what_is_given_only(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {field: getattr(TINY, field) for field in ("nodes", "documents", "fan_out", "window")}
    paper = PolicyConfiguration(**sizes, reorganise_every=40)
    assert (
        paper.peer_options()
        == replace(TINY, policy=Policy.PAPER, reorganise_every=40).peer_options()
    )
    combinations = {
        (options.placement, options.child_choice): replace(
            options, placement=paper.placement, child_choice=paper.child_choice
        )
        for placement in Placement
        for choice in ChildChoice
        for options in [replace(paper, placement=placement, child_choice=choice).peer_options()]
    }
    assert len(combinations) == 4
    assert set(map(repr, combinations.values())) == {repr(paper.peer_options())}
    # Without displacement no search finds such a place, with it some do.
    path_cost = replace(paper, placement=Placement.PATH_COST)
    assert displacements(path_cost, monkeypatch) == 0
    assert displacements(replace(path_cost, may_displace=True), monkeypatch) > 0


def test_the_last_step_is_our_policy() -> None:
    asked: list[RunConfiguration] = []

    def run(configuration: RunConfiguration) -> OverlayRun:
        asked.append(configuration)
        return OverlayRun(
            configuration, extraneous=30 * configuration.seed, depths=[1.0], parent_changes=7
        )

    table = PolicyComparison(PolicyScale(40, 300, (1, 3)), run).steps()
    ours = BucketConfiguration(nodes=40, documents=300, policy=Policy.OURS)
    assert asked[-1].peer_options() == ours.peer_options()
    assert asked[-1].displaces
    assert not asked[0].displaces
    assert set(table.column("extraneous transfers a document")) == {0.2}
    assert set(table.column("moves")) == {7}


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
    policies, joins = PolicyScale(12, 60, (1, 2)), JoinScale(12, 40, 30, (1, 2))
    scale = codd.Scale(base, (2, 4, 6), (20, 40), 60, 10, xml, faults, large, policies, joins)
    monkeypatch.setattr(codd, "QUICK", scale)
    results = codd.run(quick=True, progress=silent, finished=tmp_path / "runs")
    figures = [f"figure-{number}" for number in range(7, 17)]
    assert [table.key for table in results.tables] == [
        *figures,
        "policies",
        "policy-steps",
        "joins",
        "faults",
        "large",
        "claims",
    ]
    comparisons = {"policies", "policy-steps", "joins"}
    for table in results.tables[:-1]:
        if table.chart is None:
            assert table.key in {"figure-13", "faults", "large", *comparisons}
            continue
        assert {table.chart.panel, table.chart.x, *table.chart.lines} <= set(table.columns)
        assert table.rows
    # Each policy has its own settings, whatever the table.
    for table in results.tables[:2]:
        [ours] = [note for note in table.notes if note.startswith(f"{Policy.OURS}: ")]
        assert f"threshold {OUR_THRESHOLD}, examined {OUR_EXAMINATIONS} times" in ours
        [theirs] = [note for note in table.notes if note.startswith(f"{Policy.PAPER}: ")]
        assert "threshold 0.2, examined once" in theirs
        assert sum("threshold" in note for note in table.notes) == 2
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
