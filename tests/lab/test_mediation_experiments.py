"""The experiments on mediation, at the smallest scale: every table exists and is consistent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.documents import Name
from penstock.lab import mediation
from penstock.lab.catalogues import CATALOGUES, Catalogue, CatalogueDocuments, catalogue
from penstock.lab.catalogues.rewritten_documents import index_of, rewritten_document
from penstock.lab.catalogues.subscriptions import subscriptions
from penstock.lab.experiment_tables import ResultTable
from penstock.lab.mediation.exchange_repetition import COURSES, EXCHANGE_CATALOGUE
from penstock.lab.mediation.query_rewriting_cost import rewrite_all
from penstock.lab.mediation.scale import QUICK
from penstock.lab.mediation.simulated_network import linear, respond, tree
from penstock.lab.mediation.socket_routers import respond_over_sockets
from penstock.language import parse, to_text
from penstock.mediation import QueryRewriter

TINY = replace(QUICK, catalogues=3, sizes=(1_000, 2_000), socket_documents=2)


@pytest.fixture(scope="module")
def tables() -> dict[str, ResultTable]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mediation, "QUICK", TINY)
        run = mediation.run(quick=True, progress=lambda _what: None)
    return {table.key: table for table in run.tables}


def test_every_measurement_of_the_paper_has_a_table(tables: dict[str, ResultTable]) -> None:
    figures = {f"fig5{letter}" for letter in "abcd"}
    assert set(tables) == {
        *figures,
        "subscriptions",
        "memory",
        "header",
        "qra",
        "matching",
        "pairwise",
        "integration",
    }
    for table in tables.values():
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.columns)}
        if table.chart is not None:
            drawn = {table.chart.panel, table.chart.x, *table.chart.lines}
            assert drawn <= set(table.columns)


@pytest.mark.parametrize("key", ["fig5a", "fig5b", "fig5c", "subscriptions"])
def test_a_response_is_querying_and_transmission(tables: dict[str, ResultTable], key: str) -> None:
    table = tables[key]
    parts = zip(
        *(table.column(name) for name in ("querying ms", "transmission ms", "T ms")), strict=True
    )
    for querying, transmission, total in parts:
        assert isinstance(querying, float)
        assert isinstance(transmission, float)
        assert querying + transmission == pytest.approx(total)
    assert set(table.column("way")) == {"SDR", "NDDR", "IDDR"}


def test_percentages_are_between_0_and_100(tables: dict[str, ResultTable]) -> None:
    quality = tables["matching"]
    for share in (*quality.column("precision %"), *quality.column("recall %")):
        assert isinstance(share, float)
        assert 50 < share <= 100
    for share in tables["memory"].column("maximum %"):
        assert isinstance(share, float)
        assert 0 <= share <= 100


def test_data_rewriting_installs_one_query_and_query_rewriting_several(
    tables: dict[str, ResultTable],
) -> None:
    rows = {row[0]: row[1:] for row in tables["qra"].rows}
    one, several = rows["subscriptions"]
    assert isinstance(one, int)
    assert isinstance(several, int)
    assert one == TINY.rewritten_subscriptions < several


def test_transmission_and_querying_add_up_along_the_route() -> None:
    sent = {"size_bytes": 1_000, "bandwidth": 8_000, "querying": 0.5}
    row = respond(linear(), **sent)
    assert row.transmission == pytest.approx((1 + 2 + 3 + 4) / 4)
    assert row.querying == pytest.approx(row.transmission / 2)
    leaf = respond(linear(leaves_only=True), **sent, beforehand=0.25)
    assert leaf.transmission == pytest.approx(4)
    assert leaf.querying == pytest.approx(2.25)
    branches = respond(tree(), **sent)
    assert len(tree().parents) == 15
    assert branches.transmission == pytest.approx((1 + 2 * 2 + 4 * 3 + 8 * 4) / 15)


def test_every_router_gets_every_document_over_sockets() -> None:
    received: list[bytes] = []
    messages = [b"x" * 4_000, b"y" * 10]
    response = respond_over_sockets(messages, received.append, bandwidth=1e9, routers=3)
    assert received == [messages[0]] * 3 + [messages[1]] * 3
    assert response.total == pytest.approx(response.querying + response.transmission)


@pytest.mark.parametrize("one", CATALOGUES[::3], ids=lambda one: one.name)
def test_rewritten_subscriptions_match_the_same_catalogues(one: Catalogue) -> None:
    sent = rewritten_document(one, CatalogueDocuments(one).document(3_000, seed=4))
    queries = [parse(text) for text in subscriptions(60, seed=4)]
    rewriter = QueryRewriter(one.mapping)
    local = [rewriter.rewrite(query) for query in queries]
    wanted = index_of([str(to_text(query)) for query in queries]).matcher().match(sent.rewritten)
    texts = [str(to_text(query)) if query else "/nothing" for query in local]
    found = index_of(texts).matcher().match(sent.document)
    # The order of ids is the engine's own.
    assert set(found.ids) == set(wanted.ids)


def test_the_subscriptions_of_a_schema_are_all_accounted_for() -> None:
    queries = [parse(text) for text in subscriptions(40, seed=2)]
    queries.append(parse("//course[2]"))
    found = rewrite_all(catalogue("elmsted"), queries)
    assert len(found.texts) + found.never + found.refused == len(queries)
    assert found.refused == 1


def test_the_exchange_catalogue_has_the_repeated_node() -> None:
    nodes = catalogue(EXCHANGE_CATALOGUE).schema.nodes()
    assert COURSES in nodes
    assert COURSES[-1] == Name("", "course")
