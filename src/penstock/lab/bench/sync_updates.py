"""``bench sync``: updates a second of the server core, alone and with its store."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter

from penstock.lab.bench.report import BenchResults, Progress
from penstock.sync import Client, Server, StateChanges, SyncSubscription
from penstock.sync.messages import Message
from penstock.workspace.sync_store import SqliteSyncStore

Store = Callable[[StateChanges], None]


@dataclass(frozen=True, slots=True)
class UpdatesSize:
    """The size of the measurement."""

    products: int
    """Products in the document, each with a name and a price."""
    clients: int
    """Connected clients, each with a cache of one product."""
    rounds: int
    """Rounds of several statements."""
    single_rounds: int
    """Rounds of one statement."""
    statements: int
    """Statements a round, where there are several; each sets the price of a product."""
    repeats: int
    """How often each rate is measured; the median counts."""


FULL_UPDATES = UpdatesSize(
    products=1_000, clients=100, rounds=30, single_rounds=300, statements=100, repeats=5
)
QUICK_UPDATES = UpdatesSize(
    products=20, clients=5, rounds=3, single_rounds=3, statements=5, repeats=2
)


def measure_updates(results: BenchResults, progress: Progress, *, quick: bool) -> None:
    """Statements that a server decides in a second."""
    size = QUICK_UPDATES if quick else FULL_UPDATES
    progress(f"bench sync: updates of {size.products:,} products, {size.clients} connected clients")
    for rounds, statements in ((size.single_rounds, 1), (size.rounds, size.statements)):
        alone: list[float] = []
        stored: list[float] = []
        # In turn, so that what else the machine does affects both.
        for _ in range(size.repeats):
            alone.append(_rate(size, rounds, statements, _keep_nothing))
            stored.append(_stored_rate(size, rounds, statements))
        what = f"server core, {statements} statements a round"
        results.figure(f"{what}: updates a second", median(alone), "")
        results.figure(f"{what}, stored: updates a second", median(stored), "")


def _stored_rate(size: UpdatesSize, rounds: int, statements: int) -> float:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-") as folder:
        store = SqliteSyncStore(Path(folder, "bench.sqlite"))
        try:
            return _rate(size, rounds, statements, store.write)
        finally:
            store.close()


def _keep_nothing(_changes: StateChanges) -> None:
    pass


def _rate(size: UpdatesSize, rounds: int, statements: int, store: Store) -> float:
    """Statements a second, from the request to the messages; the clients' work is not counted."""
    products = "".join(
        f'<product id="p{number}"><name>product {number}</name><price>1</price></product>'
        for number in range(size.products)
    )
    server = Server.of_document(f"<catalogue>{products}</catalogue>".encode())
    author = Client("author", SyncSubscription("/*"))
    readers = [
        Client(f"reader {number}", SyncSubscription(f"/catalogue/product[@id = 'p{number}']"))
        for number in range(size.clients)
    ]
    clients = {each.name: each for each in (author, *readers)}
    for client in clients.values():
        server.receive(client.request())
    _deliver(clients, server.round())
    store(server.take_changes())
    seconds = 0.0
    made = 0
    for _ in range(rounds):
        for _ in range(statements):
            author.update(f"/catalogue/product[{made % size.products}]/price/*!update('{made}')")
            made += 1
        request = author.request()
        begin = perf_counter()
        server.receive(request)
        messages = server.round()
        store(server.take_changes())
        seconds += perf_counter() - begin
        _deliver(clients, messages)
    assert server.version == made
    assert author.canonical_xml() == server.tree.canonical_xml()
    return made / seconds


def _deliver(clients: dict[str, Client], messages: list[Message]) -> None:
    for message in messages:
        assert clients[message.client].receive(message) == []
