"""What every store of a synchronisation server has to do."""

from __future__ import annotations

import random
from collections.abc import Callable

from penstock.errors import PenstockError
from penstock.sync import Client, Server, StoredState, SyncSubscription
from penstock.sync.simulation.workload import NAMESPACES, random_document, random_statement
from penstock.workspace.sync_store import SyncStore


def check_that_a_stored_state_is_what_was_written(
    open_store: Callable[[], SyncStore], seed: int
) -> None:
    """Stores the rounds of a random history, with clients that leave, checkpoints, and a server
    that is started again."""
    rng = random.Random(seed)
    store = open_store()
    assert store.load() is None
    server = Server.of_document(random_document(rng, size=12), horizon=12, incarnation=7)
    changes = server.take_changes()
    assert changes.checkpoint is not None
    expected = StoredState(changes.checkpoint)
    store.write(changes)
    clients = {
        name: Client(name, SyncSubscription(query, NAMESPACES))
        for name, query in (("one/\u2028&", "/*"), ("two", "//a | //b"), ("three", "/*"))
    }
    for number in range(20):
        if number == 8:
            server = Server(expected, horizon=12, incarnation=8)
        if number == 12:
            server.remove("three")
            del clients["three"]
        for client in clients.values():
            server.receive(client.request())
        messages = server.round()
        changes = server.take_changes()
        store.write(changes)
        expected.write(changes)
        for message in messages:
            clients[message.client].receive(message)
        for client in clients.values():
            if len(client.tree) < 200:
                try:
                    client.update(random_statement(rng, client.tree), namespaces=dict(NAMESPACES))
                except PenstockError:
                    continue
    store.close()
    store = open_store()
    loaded = store.load()
    store.close()
    assert loaded == expected
    assert loaded is not None
    assert loaded.checkpoint.incarnations
    restored = Server(loaded, horizon=12)
    assert restored.version == server.version
    assert restored.tree.canonical_xml() == server.tree.canonical_xml()
