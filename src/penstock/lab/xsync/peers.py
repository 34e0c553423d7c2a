"""Libraries that synchronise full copies without a server, for orientation."""

from __future__ import annotations

import importlib
import random
import statistics
from collections.abc import Callable
from importlib.util import find_spec
from time import process_time
from typing import Any, Final, Protocol

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ResultTable
from penstock.lab.xsync.scale import Scale
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import (
    decode_messages,
    decode_request,
    encode_messages,
    encode_request,
)

PRODUCTS: Final = 200
"""Elements with an identity and a price that both replicas change."""


class Pair(Protocol):
    """Two replicas with the same document."""

    def change(self, replica: int, product: int, price: str) -> None:
        """Sets a price on one replica."""

    def exchange(self) -> int:
        """Brings both replicas to the same state; returns the bytes that are sent."""

    def prices(self, replica: int) -> list[str]:
        """The prices, in the order of the products."""


class PenstockPair:
    """Two clients of a server that cache the whole document; the bytes are those of their requests
    and of the server's messages."""

    def __init__(self) -> None:
        products = "".join(
            f"<product id='p{at}'><price>0</price></product>" for at in range(PRODUCTS)
        )
        self._server = Server.of_document(f"<shop>{products}</shop>".encode())
        self._clients = [Client(name, SyncSubscription("/*")) for name in ("one", "two")]
        self.exchange()

    def change(self, replica: int, product: int, price: str) -> None:
        """Makes a statement."""
        self._clients[replica].update(f"/shop/product[{product}]/price/*!update('{price}')")

    def exchange(self) -> int:
        """Runs a round."""
        sent = 0
        for client in self._clients:
            data = encode_request(client.request())
            sent += len(data)
            self._server.receive(decode_request(data))
        by_name = {client.name: client for client in self._clients}
        for message in self._server.round():
            data = encode_messages((message,))
            sent += len(data)
            for received in decode_messages(data):
                by_name[received.client].receive(received)
        return sent

    def prices(self, replica: int) -> list[str]:
        """The texts of the price elements."""
        tree = self._clients[replica].tree
        assert tree.root is not None
        return [tree.string_value(product) for product in tree.children(tree.root)]


class PycrdtPair:
    """Two documents of pycrdt (Yjs) with XML elements, which exchange updates."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("pycrdt")
        self._documents = [self._library.Doc() for _ in range(2)]
        element = self._library.XmlElement
        self._documents[0]["shop"] = self._library.XmlFragment(
            [
                element(
                    "product",
                    {"id": f"p{at}"},
                    [element("price", {}, [self._library.XmlText("0")])],
                )
                for at in range(PRODUCTS)
            ]
        )
        self._documents[1].apply_update(self._documents[0].get_update())
        self._shops = [
            document.get("shop", type=self._library.XmlFragment) for document in self._documents
        ]
        self._texts = [
            [product.children[0].children[0] for product in shop.children] for shop in self._shops
        ]

    def change(self, replica: int, product: int, price: str) -> None:
        """Replaces the text of an element."""
        text = self._texts[replica][product]
        with self._documents[replica].transaction():
            del text[0 : len(str(text))]
            text.insert(0, price)

    def exchange(self) -> int:
        """Sends each replica what it does not have."""
        first, second = self._documents
        updates = [
            first.get_update(second.get_state()),
            second.get_update(first.get_state()),
        ]
        second.apply_update(updates[0])
        first.apply_update(updates[1])
        return sum(map(len, updates))

    def prices(self, replica: int) -> list[str]:
        """The texts; concurrent ones of a product are both there."""
        return [str(text) for text in self._texts[replica]]


class LoroPair:
    """Two documents of Loro with a movable tree, whose nodes have maps; they exchange updates."""

    def __init__(self) -> None:
        self._library: Any = importlib.import_module("loro")
        self._documents = [self._library.LoroDoc() for _ in range(2)]
        tree = self._documents[0].get_tree("shop")
        root = tree.create()
        self._products = [tree.create(root) for _ in range(PRODUCTS)]
        for at, product in enumerate(self._products):
            meta = tree.get_meta(product)
            meta.insert("id", f"p{at}")
            meta.insert("price", "0")
        self._documents[0].commit()
        self.exchange()

    def change(self, replica: int, product: int, price: str) -> None:
        """Sets a value of a node's map."""
        document = self._documents[replica]
        document.get_tree("shop").get_meta(self._products[product]).insert("price", price)
        document.commit()

    def exchange(self) -> int:
        """Sends each replica what it does not have."""
        first, second = self._documents
        updates = self._library.ExportMode.Updates
        sent = [
            first.export(updates(second.oplog_vv)),
            second.export(updates(first.oplog_vv)),
        ]
        second.import_(sent[0])
        first.import_(sent[1])
        return sum(map(len, sent))

    def prices(self, replica: int) -> list[str]:
        """The values."""
        tree = self._documents[replica].get_tree("shop")
        return [str(tree.get_meta(product).get("price").value) for product in self._products]


PEERS: Final[dict[str, tuple[str | None, Callable[[], Pair]]]] = {
    "Penstock": (None, PenstockPair),
    "pycrdt": ("pycrdt", PycrdtPair),
    "Loro": ("loro", LoroPair),
}
"""The package of each, and its pair of replicas."""


def peers(scale: Scale, progress: Progress) -> ResultTable:
    """Measure bytes a change, and the time to converge."""
    progress("lab xsync: peers")
    rows = [
        (name, changes, *_measured(make, changes, scale.peer_exchanges))
        for name, (package, make) in PEERS.items()
        if package is None or find_spec(package) is not None
        for changes in (1, 100)
    ]
    missing = [name for name, (package, _) in PEERS.items() if package and not find_spec(package)]
    notes = [
        f"Two replicas of {PRODUCTS} products set random prices, then exchange. Bytes are of both"
        " directions; of Penstock, those of both clients to and from the server, which also reports"
        " conflicts. CPU time of an exchange, encoding included. For orientation: pycrdt and Loro"
        " have full copies only, and pycrdt keeps both of two concurrent texts."
    ]
    if missing:
        notes.append(f"Not installed (extra `peers`): {', '.join(missing)}.")
    columns = ("library", "changes of each", "bytes a change", "ms an exchange")
    return ResultTable(
        "peers", "Libraries that synchronise full copies", columns, tuple(rows), tuple(notes)
    )


def _measured(make: Callable[[], Pair], changes: int, exchanges: int) -> tuple[float, float]:
    """Bytes a change, and milliseconds of CPU time of an exchange."""
    rng = random.Random(changes)
    pair = make()
    sent = 0
    times: list[float] = []
    for _ in range(exchanges):
        for replica in (0, 1):
            for product in rng.sample(range(PRODUCTS), changes):
                pair.change(replica, product, str(rng.randrange(1, 1_000)))
        begin = process_time()
        sent += pair.exchange()
        times.append(process_time() - begin)
        assert pair.prices(0) == pair.prices(1), "the replicas differ"
    return sent / (2 * changes * exchanges), 1e3 * statistics.median(times)
