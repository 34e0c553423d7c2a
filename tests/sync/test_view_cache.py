"""The restrictions that a server keeps: when they are evaluated again, and that they are right."""

from __future__ import annotations

import pytest

from penstock.sync import Client, Server, SyncSubscription
from penstock.sync import view_cache as module
from penstock.sync.document_tree import DocumentTree, TreeQuery, View
from penstock.sync.messages import Message
from penstock.sync.simulation import run_history
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

    def __init__(self) -> None:
        products = "".join(
            f"<product id='p{at}'><price>{at}</price></product>" for at in range(PRODUCTS)
        )
        self.server = Server.of_document(f"<shop>{products}</shop>".encode())
        self.author = Client("author", SyncSubscription("/*"))
        readers = [
            Client(f"reader{at}", SyncSubscription(f"/shop/product[@id = 'p{at}']"))
            for at in range(PRODUCTS)
        ]
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
