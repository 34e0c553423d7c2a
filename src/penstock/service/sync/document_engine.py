"""A document of a server: the server core with its store. One thread at a time may call it."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from penstock.errors import PenstockError, error
from penstock.service.sync.clone_description import CloneDescription
from penstock.service.sync.document_stores import DocumentStores
from penstock.sync import Server, StoredState
from penstock.sync.dataclass_codec import NUMBER_MAX
from penstock.sync.messages import Request
from penstock.sync.request_round import Round, run_round
from penstock.workspace.sync_store import SyncStore


@dataclass(frozen=True, slots=True)
class DocumentStatus:
    """The size of a document's state."""

    version: int
    nodes: int
    """Nodes of the document, with deleted ones that are kept."""
    log_entries: int
    clients: int


class DocumentEngine:
    """Runs rounds: requests in, stored changes, messages out."""

    def __init__(self, name: str, store: SyncStore, server: Server) -> None:
        self.name = name
        self._store = store
        self._server = server

    @classmethod
    def open(
        cls, name: str, stores: DocumentStores, document: bytes | None = None
    ) -> DocumentEngine:
        """Restores a document from its store, or stores a new one.

        Raises
        ------
        WorkspaceError
            ``workspace.damaged``: what is stored cannot be restored. ``workspace.missing``: the
            file of the store is something else.
        DocumentError
            The document was refused.
        SyncError
            ``sync.document``: the store has no document, and none is given. ``sync.basex``: BaseX
            does not answer.
        """
        place = stores.place_of(name)
        is_new = name not in stores.names()
        # A document that is refused leaves no store.
        made = _new(document) if is_new and document is not None else None
        store = stores.open(name)
        try:
            state = store.load()
            if state is not None:
                made = _restore(state, place)
            elif made is None:
                if document is None:
                    raise error("sync.document", f"{place} has no document")
                made = _new(document)
            store.write(made.take_changes())
        except BaseException:
            store.close()
            raise
        return cls(name, store, made)

    @property
    def version(self) -> int:
        """The version of the document."""
        return self._server.version

    def status(self) -> DocumentStatus:
        """The size of the state."""
        server = self._server
        return DocumentStatus(
            server.version, len(server.tree), len(server.log), len(server.clients)
        )

    def clones(self, prefix: str) -> list[CloneDescription]:
        """The clones whose names begin so, in order."""
        found = [
            CloneDescription(each.client, each.version, each.subscription.query)
            for each in self._server.clients
            if each.client.startswith(prefix)
        ]
        return sorted(found, key=lambda each: each.client)

    def knows(self, client: str) -> bool:
        """Whether the server knows a client."""
        return self._server.client(client) is not None

    def run(
        self,
        requests: Sequence[Request],
        *,
        connected: Collection[str] = (),
        left: Collection[str] = (),
        forgotten: Collection[str] = (),
    ) -> Round:
        """Runs a round. When it returns, what it acknowledges is stored.

        Parameters
        ----------
        requests
            Requests, in the order of their arrival.
        connected
            Clients that can be sent messages that they did not request.
        left
            Clients that cannot any more.
        forgotten
            Clients that left for good.

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the changes cannot be stored. The engine is then unusable.
        SyncError
            ``sync.basex``, ``sync.basex-changed``: likewise.
        """
        for client in forgotten:
            self._server.remove(client)
        done = run_round(self._server, requests, connected=connected, left=left)
        self._store.write(self._server.take_changes())
        return done

    def close(self) -> None:
        """Releases the store."""
        self._store.close()


def _new(document: bytes) -> Server:
    return Server.of_document(document, incarnation=_incarnation())


def _incarnation() -> int:
    """A store can be replaced by an older copy whenever no server uses it."""
    return 1 + secrets.randbelow(NUMBER_MAX)


def _restore(state: StoredState, place: str) -> Server:
    versions = [entry.version for entry in state.entries]
    first = state.checkpoint.version + 1
    if versions != list(range(first, first + len(versions))):
        raise error("workspace.damaged", f"{place} has a log with gaps")
    try:
        return Server(state, incarnation=_incarnation())
    except (PenstockError, AssertionError, IndexError, KeyError) as problem:
        raise error("workspace.damaged", f"{place} cannot be restored: {problem!r}") from problem
