"""A server that stores each round and reports what it acknowledged, until it is killed."""

from __future__ import annotations

import sys
from pathlib import Path

from penstock.sync import Client, Server, StoredState, SyncSubscription
from penstock.workspace.sync_store import SqliteSyncStore


def serve(path: Path) -> None:
    """Prints the number of each statement after it is stored, for ever."""
    store = SqliteSyncStore(path)
    state: StoredState | None = store.load()
    server = Server.of_document(b"<r/>", horizon=40) if state is None else Server(state, horizon=40)
    store.write(server.take_changes())
    known = server.client("one")
    client = Client("one", SyncSubscription("/*"))
    if known is not None:
        client._clone_number = known.clone_number
        client._next_number = known.decided + 1
    while True:
        server.receive(client.request())
        messages = server.round()
        store.write(server.take_changes())
        for message in messages:
            client.receive(message)
            record = server.client("one")
            assert record is not None
            sys.stdout.write(f"{record.decided}\n")
            sys.stdout.flush()
        client.update(f"/r!insert(n/'{client._next_number}')")


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
