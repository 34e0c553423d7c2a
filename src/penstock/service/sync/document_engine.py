"""A document of a server: the server core with its store. One thread at a time may call it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from penstock.errors import PenstockError, error
from penstock.sync import Server, StoredState
from penstock.sync.affected_search import IndexedClients
from penstock.sync.messages import Message, Request
from penstock.workspace.sync_store import SqliteSyncStore, SyncStore


@dataclass(slots=True)
class Round:
    """What a round results in."""

    answers: list[tuple[Message, ...] | PenstockError]
    """For each request, the messages to its client, or why it was refused."""
    pushed: list[Message] = field(default_factory=list)
    """Messages to connected clients that requested nothing in the round."""


class DocumentEngine:
    """Runs rounds: requests in, stored changes, messages out."""

    def __init__(self, name: str, store: SyncStore, server: Server) -> None:
        self.name = name
        self._store = store
        self._server = server

    @classmethod
    def open(cls, name: str, path: Path, document: bytes | None = None) -> DocumentEngine:
        """Restores a document from its file, or creates the file with a document.

        Raises
        ------
        WorkspaceError
            ``workspace.damaged``: what is stored cannot be restored. ``workspace.missing``: the
            file is something else.
        DocumentError
            The document was refused.
        SyncError
            ``sync.document``: the file has no document, and none is given.
        """
        made = None if path.exists() or document is None else Server.of_document(document)
        store = SqliteSyncStore(path)
        try:
            state = store.load()
            if state is not None:
                made = _restore(state, path)
            elif made is None:
                if document is None:
                    raise error("sync.document", f"{path} has no document")
                made = Server.of_document(document)
            store.write(made.take_changes())
        except BaseException:
            store.close()
            raise
        return cls(name, store, made)

    @property
    def version(self) -> int:
        """The version of the document."""
        return self._server.version

    def run(
        self,
        requests: Sequence[Request],
        *,
        connected: Collection[str] = (),
        left: Collection[str] = (),
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

        Raises
        ------
        WorkspaceError
            ``workspace.full``: the changes cannot be stored. The engine is then unusable.
        """
        for client in left:
            self._server.disconnect(client)
        refused: dict[int, PenstockError] = {}
        for number, request in enumerate(requests):
            try:
                self._receive(request)
            except PenstockError as refusal:
                refused[number] = refusal
        messages = self._server.round()
        self._store.write(self._server.take_changes())
        authors = {request.client for request in requests}
        for client in authors - set(connected):
            self._server.disconnect(client)
        return Round(
            answers=[
                refused.get(number)
                or tuple(each for each in messages if each.client == request.client)
                for number, request in enumerate(requests)
            ],
            pushed=[each for each in messages if each.client not in authors],
        )

    def _receive(self, request: Request) -> None:
        if request.subscription is not None:
            # What cannot be compiled or indexed is refused before the server records it.
            _ = request.subscription.compiled
            IndexedClients().add(request.client, request.subscription)
        self._server.receive(request)

    def close(self) -> None:
        """Releases the store."""
        self._store.close()


def _restore(state: StoredState, path: Path) -> Server:
    versions = [entry.version for entry in state.entries]
    first = state.checkpoint.version + 1
    if versions != list(range(first, first + len(versions))):
        raise error("workspace.damaged", f"{path} has a log with gaps")
    try:
        return Server(state)
    except (PenstockError, AssertionError, IndexError, KeyError) as problem:
        raise error("workspace.damaged", f"{path} cannot be restored: {problem!r}") from problem
