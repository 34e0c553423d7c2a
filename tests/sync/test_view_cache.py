"""The restrictions that a server keeps: when they are evaluated again, and that they are right."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from penstock.errors import UpdateError
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync import view_cache as module
from penstock.sync.document_tree import DocumentTree, TreeQuery, View
from penstock.sync.messages import Message
from penstock.sync.simulation import run_history
from penstock.sync.update_log import LogEntry, UpdateLog
from support.contracts.native_engines import needs_native

pytestmark = needs_native

PRODUCTS = 10


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[TreeQuery]:
    """The queries that are evaluated."""
    queries: list[TreeQuery] = []
    view = DocumentTree.view

    def counted(tree: DocumentTree, query: TreeQuery) -> View:
        queries.append(query)
        return view(tree, query)

    monkeypatch.setattr(DocumentTree, "view", counted)
    return queries


class Shop:
    """A server with a client that writes, and one for each product that is connected."""

    def __init__(self, others: Sequence[str] = ()) -> None:
        products = "".join(
            f"<product id='p{at}'><price>{at}</price></product>" for at in range(PRODUCTS)
        )
        self.server = Server.of_document(f"<shop>{products}</shop>".encode())
        self.author = Client("author", SyncSubscription("/*"))
        readers = [
            Client(f"reader{at}", SyncSubscription(f"/shop/product[@id = 'p{at}']"))
            for at in range(PRODUCTS)
        ]
        readers += [Client(query, SyncSubscription(query)) for query in others]
        self.clients = {each.name: each for each in (self.author, *readers)}
        for client in self.clients.values():
            self.server.receive(client.request())
        self.deliver(self.server.round())

    def deliver(self, messages: list[Message]) -> None:
        for message in messages:
            assert self.clients[message.client].receive(message) == []

    def update(self, *statements: str) -> set[str]:
        """Makes statements in a round; returns who is sent a message."""
        for statement in statements:
            self.author.update(statement)
        self.server.receive(self.author.request())
        messages = self.server.round()
        self.deliver(messages)
        for client in self.clients.values():
            view = self.server.tree.view(client.subscription.compiled)
            expected = self.server.tree.restricted(view).canonical_xml()
            assert client.canonical_xml() == expected
        return {message.client for message in messages}


@pytest.mark.parametrize(
    ("statement", "readers"),
    [
        ("/shop/product[3]/price/*!update('7')", {"reader3"}),
        ("/shop/product[3]!insert(note/'new')", {"reader3"}),
        ("/shop/product[3]/price!delete()", {"reader3"}),
        ("/shop/product[3]/price!update('cost')", {"reader3"}),
        ("/shop/product[3]!insert(@sold/'1')", {"reader3"}),
        ("/shop!insert(@open/'1')", set()),
    ],
)
def test_clients_that_are_found_in_vain_cost_no_evaluation(
    evaluated: list[TreeQuery], statement: str, readers: set[str]
) -> None:
    shop = Shop()
    shop.author.update(statement)
    shop.server.receive(shop.author.request())
    evaluated.clear()
    messages = shop.server.round()
    assert evaluated == []
    shop.deliver(messages)
    assert {each.client for each in messages} == {"author", *readers}
    # Readers that were sent nothing are still at the first version.
    shop.update("/shop/product[5]!insert(note/'later')")


def test_a_client_that_is_found_in_vain_for_many_rounds_costs_the_same_in_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = Shop()
    entries: list[int] = []
    after = UpdateLog.after

    def counted(log: UpdateLog, version: int) -> Sequence[LogEntry]:
        found = after(log, version)
        entries.append(len(found))
        return found

    monkeypatch.setattr(UpdateLog, "after", counted)
    for price in range(30):
        assert shop.update(f"/shop/product[3]/price/*!update('{price}')") == {"author", "reader3"}
    assert max(entries) == 1
    # The readers that were sent nothing learn what happens to theirs.
    assert shop.update("/shop/product[5]/price/*!update('30')") == {"author", "reader5"}


OBSERVERS = (
    "/shop/product[price = '1']",
    "//price",
    "//note",
    "/shop/product/@id",
    "//text()",
    "/shop/product[2]",
    "/shop/product[last()]/price",
    "//product[note]/price",
    "/shop/product[@sold]",
    "/shop",
    "//product[cost]",
)
STATEMENTS = (
    "/shop/product[{at}]/price/*!update('{other}')",
    "/shop/product[{at}]/price!update('cost')",
    "/shop/product[{at}]/cost!update('price')",
    "/shop/product[{at}]!insert(note/'new')",
    "/shop/product[{at}]/note!delete()",
    "/shop/product[{at}]!delete()",
    "/shop!insert(product/@id/'p{other}')",
    "/shop/product[{at}]/@id!update('p{other}')",
    "/shop/product[{at}]!insert(@sold/'1')",
    "/shop/product[{at}]!moveAfter(/shop/product[{other}])",
    "/shop/product[{other}]!move(/shop/product[{at}]/price)",
    "/shop/product[{other}]!copy(/shop/product[{at}]/note)",
    "/shop!insert(@open/'{other}')",
)


@pytest.mark.parametrize("seed", range(12))
def test_connected_clients_have_what_they_subscribe_to_after_every_round(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    omitted = 0
    is_untouched = module.ViewCache.is_untouched

    def counted(views: module.ViewCache, subscription: SyncSubscription) -> bool:
        nonlocal omitted
        found = is_untouched(views, subscription)
        omitted += found
        return found

    monkeypatch.setattr(module.ViewCache, "is_untouched", counted)
    shop = Shop(OBSERVERS)
    draw = random.Random(seed)
    for _ in range(60):
        for _ in range(draw.choice((1, 1, 2, 4))):
            at, other = draw.randrange(PRODUCTS), draw.randrange(PRODUCTS)
            try:
                shop.author.update(draw.choice(STATEMENTS).format(at=at, other=other))
            except UpdateError as refused:
                if refused.code not in ("update.no-target", "update.cycle"):
                    raise
        shop.update()
    assert omitted > 20


def test_what_may_change_a_selection_is_evaluated() -> None:
    shop = Shop()
    assert shop.update("/shop/product[3]/@id!update('p4')") == {"author", "reader3", "reader4"}
    assert shop.update("/shop/product[2]!delete()", "/shop!insert(product/@id/'p2')") == {
        "author",
        "reader2",
    }
    assert shop.update("/shop/product[0]!moveAfter(/shop/product[4])") == {"author", "reader5"}


def test_a_subscription_that_returns_is_evaluated() -> None:
    shop = Shop()
    reader = shop.clients.pop("reader3")
    shop.server.remove("reader3")
    shop.update("/shop/product[3]/@id!update('p4')", "/shop/product[5]/@id!update('p3')")
    shop.clients["again"] = Client("again", reader.subscription)
    shop.server.receive(shop.clients["again"].request())
    shop.deliver(shop.server.round())
    assert shop.update("/shop/product[5]/price/*!update('7')") == {"author", "again"}


@pytest.mark.parametrize("nodes_max", [0, 20])
def test_caches_converge_when_views_are_evicted(
    monkeypatch: pytest.MonkeyPatch, nodes_max: int
) -> None:
    monkeypatch.setattr(module, "CACHED_VIEW_NODES_MAX", nodes_max)
    for seed in range(5):
        run_history(seed)
