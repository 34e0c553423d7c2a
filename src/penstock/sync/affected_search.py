"""The search for the clients that an operation affects, as the server uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from penstock.sync.subscription import SyncSubscription
from penstock.sync.update_log import LogEntry


class AffectedSearch(Protocol):
    """Finds clients whose restriction may differ before and after entries of the log.

    It may find more: the server compares the restrictions of those that it finds. It must not miss
    one.
    """

    def add(self, client: str, subscription: SyncSubscription) -> None:
        """A client subscribes; a client can have two subscriptions while it changes them."""

    def remove(self, client: str) -> None:
        """All subscriptions of a client end."""

    def affected(self, entries: Sequence[LogEntry]) -> Iterable[str]:
        """The clients that entries, which were just applied, may affect."""


class EveryClient:
    """Finds all clients; the oracle of other searches."""

    def __init__(self) -> None:
        self._clients: dict[str, None] = {}

    def add(self, client: str, subscription: SyncSubscription) -> None:
        """A client subscribes."""
        self._clients[client] = None

    def remove(self, client: str) -> None:
        """A client leaves."""
        self._clients.pop(client, None)

    def affected(self, entries: Sequence[LogEntry]) -> Iterable[str]:
        """All clients, if there is an entry."""
        return list(self._clients) if entries else []
