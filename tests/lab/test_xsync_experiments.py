"""The experiments of the XSync paper, at the smallest scale."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from penstock.lab import xsync
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.xsync.claims import SIMILAR, correlation
from penstock.lab.xsync.document_types import Expressions, Population, RandomDtd, expression
from penstock.lab.xsync.engines import PenstockEngine, XSyncEngine
from penstock.lab.xsync.peers import PEERS
from penstock.lab.xsync.scale import DEPTH_MAX, QUICK
from penstock.native import native

needs_native = pytest.mark.skipif(native is None, reason="the native core is not built")

TINY = replace(
    QUICK,
    queries=300,
    query_counts=(1, 100, 1_000),
    dtd_sizes=(1, 10),
    lengths=(0, 4, 10),
    updates=4,
    judged_clients=30,
    judged_operations=5,
    histories=4,
    merged_statements=(1, 8),
    peer_exchanges=1,
)


@pytest.fixture(scope="module")
def tables() -> dict[str, ResultTable]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(xsync, "QUICK", TINY)
        run = xsync.run(quick=True, progress=lambda _what: None)
    return {table.key: table for table in run.tables}


@needs_native
def test_every_figure_is_reproduced(tables: dict[str, ResultTable]) -> None:
    figures = {f"fig{number}" for number in range(4, 12)}
    assert set(tables) == {
        *figures,
        "false-positives",
        "false-positives-operations",
        "conflicts",
        "forwarding",
        "merging",
        "peers",
        "claims",
    }
    for table in tables.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}


@needs_native
def test_only_the_paper_s_engine_ever_misses_somebody(tables: dict[str, ResultTable]) -> None:
    judged = tables["false-positives"]
    missed = dict.fromkeys(judged.column("engine"), 0.0)
    for engine, count in zip(judged.column("engine"), judged.column("missed"), strict=True):
        assert isinstance(count, float)
        missed[engine] += count
    assert missed["Penstock"] == missed["Penstock, content unknown"] == 0


@needs_native
def test_every_operation_is_judged_with_predicates(tables: dict[str, ResultTable]) -> None:
    table = tables["false-positives-operations"]
    kinds = ["delete", "insert", "rename", "move", "copy", "value"]
    assert list(dict.fromkeys(table.column("operation"))) == kinds
    found: dict[tuple[Cell, Cell], tuple[Cell, ...]] = {
        (row[0], row[1]): row[2:] for row in table.rows
    }
    for kind in kinds:
        ours, down = found[kind, "Penstock"], found[kind, "XSync, DOWN"]
        assert ours[1] == down[1], "both are compared with the same restrictions"
        assert ours[3] == 0, f"{kind}: somebody is missed"
    affected = [found[kind, "Penstock"][1] for kind in kinds]
    assert all(isinstance(count, float) and count > 0 for count in affected)


@needs_native
def test_the_sub_path_of_a_move_is_searched_too() -> None:
    dtd = RandomDtd(((1, 2), (), ()))
    population = Population(dtd, Expressions.SIMPLE, ["/e0/e1", "/e0/e2"], [(0, 1), (0, 2)])
    engine = XSyncEngine(population)
    assert list(engine.search(0, "/", down_all=False).clients) == [0]
    assert list(engine.search_path("/e0/e2").clients) == [1]


@needs_native
def test_the_shapes_of_figures_4_to_7_are_compared(tables: dict[str, ResultTable]) -> None:
    rows = [row for row in tables["claims"].rows if str(row[0]).startswith(("Figs.", "Fig. 7"))]
    assert {row[0] for row in rows} == {
        "Figs. 5 and 7: similar curves",
        "Figs. 4 and 6: no similar curves",
        "Fig. 7: a shorter query costs more",
    }
    for claim, _kind, measured, _expected, holds in rows:
        assert holds in {"yes", "no"}
        if str(claim).startswith("Figs."):
            assert isinstance(measured, float)
            assert -1.001 <= measured <= 1.001
            is_similar = measured >= SIMILAR
            assert (holds == "yes") == (is_similar != str(claim).endswith("no similar curves"))


def test_curves_are_similar_by_their_shape() -> None:
    falling = {1.0: 80.0, 2.0: 40.0, 3.0: 10.0}
    scaled = {at: 7 * cost for at, cost in falling.items()}
    rising = {at: 1 / cost for at, cost in falling.items()}
    assert correlation(falling, scaled) == pytest.approx(1)
    assert correlation(falling, rising) == pytest.approx(-1)
    assert correlation(falling, dict.fromkeys(falling, 5.0)) is None
    assert correlation({1.0: 1.0, 2.0: 3.0}, falling) is None


@needs_native
def test_paths_suspect_more_conflicts_than_identities_prove(
    tables: dict[str, ResultTable],
) -> None:
    ours, _cascade = tables["conflicts"].rows
    suspected, proved = ours[2], ours[4]
    assert isinstance(suspected, int)
    assert isinstance(proved, int)
    assert suspected > proved


@needs_native
def test_forwarded_statements_make_caches_diverge(tables: dict[str, ResultTable]) -> None:
    rows = tables["forwarding"].rows
    assert [row[0] for row in rows] == ["one author", "every client"]
    for _, histories, _statements, undone, caches, diverged, with_one in rows:
        assert isinstance(diverged, int)
        assert isinstance(caches, int)
        assert 0 < diverged <= caches
        assert isinstance(with_one, int)
        assert isinstance(histories, int)
        assert 0 < with_one <= histories
        assert isinstance(undone, int)
    assert rows[0][3] == 0


@needs_native
def test_merging_saves_messages(tables: dict[str, ResultTable]) -> None:
    rows = {(row[0], row[1]): row[2:] for row in tables["merging"].rows}
    assert set(rows) == {(what, count) for what in ("messages", "bytes") for count in (1, 8)}
    for (what, count), (merged, separate, broadcast) in rows.items():
        assert isinstance(merged, float)
        assert isinstance(separate, float)
        assert isinstance(broadcast, float)
        assert 0 < merged <= separate
        if count == 8:
            assert merged < separate
        if what == "messages":
            assert separate < broadcast


@needs_native
@pytest.mark.parametrize("name", PEERS)
def test_replicas_of_peers_converge(name: str) -> None:
    package, make = PEERS[name]
    if package is not None:
        pytest.importorskip(package)
    pair = make()
    pair.change(0, 3, "7")
    pair.change(1, 4, "8")
    assert pair.exchange() > 0
    for replica in (0, 1):
        prices = pair.prices(replica)
        assert (prices[3], prices[4], prices[5]) == ("7", "8", "0")
    pair.change(0, 3, "1")
    pair.change(1, 3, "2")
    pair.exchange()
    assert pair.prices(0) == pair.prices(1)


@pytest.mark.parametrize("size", [1, 2, 10, 100])
def test_document_types_are_cyclic_and_repeatable(size: int) -> None:
    dtd = RandomDtd.of_size(size, seed=1)
    assert dtd == RandomDtd.of_size(size, seed=1)
    assert len(dtd.names) == size
    assert sum(map(len, dtd.paths)) == dtd.path_count + 1
    reached = {path[-1] for paths in dtd.paths[1:] for path in paths}
    assert reached == set(range(size))
    # A tree has one edge less than elements.
    assert sum(map(len, dtd.children)) >= size
    assert dtd.schema().root_labels == ("e0",)


def test_expressions_are_generalised_at_one_position() -> None:
    assert expression((), Expressions.SIMPLE, 0) == "/"
    assert expression((0, 3), Expressions.SIMPLE, 0) == "/e0/e3"
    assert expression((0, 3), Expressions.WILDCARD, 1) == "/e0/*"
    assert expression((0, 3), Expressions.DESCENDANT, 0) == "//e0/e3"


@needs_native
@pytest.mark.parametrize("kind", Expressions)
def test_both_engines_find_all_that_overlap_with_a_simple_update(kind: Expressions) -> None:
    dtd = RandomDtd.of_size(12, seed=3)
    population = Population.draw(dtd, kind, 200, range(DEPTH_MAX + 1), seed=3)
    paper, ours = XSyncEngine(population), PenstockEngine(population)
    nodes, dummies, unexpanded = paper.sizes()
    assert nodes > dummies >= 0
    assert unexpanded == 0
    chance = random.Random(3)
    for client in chance.sample(range(200), 40):
        simple = Population(dtd, Expressions.SIMPLE, (), population.labels)
        update = simple.update(client, 1, chance)
        if update is None:
            continue
        text, labels = update
        down = set(paper.search(client, text, down_all=False).clients)
        overlapping = {
            other
            for other, own in enumerate(population.labels)
            if own == labels[: len(own)] or labels == own[: len(labels)]
        }
        assert overlapping <= down
        assert overlapping <= set(ours.search(labels)[0].clients)
        assert down <= set(paper.search(client, text, down_all=True).clients)
