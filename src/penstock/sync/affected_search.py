"""The search for the clients that operations affect, as the server uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from penstock.sync.affected.affected_index import AffectedIndex
from penstock.sync.affected.change import Change
from penstock.sync.subscription import SyncSubscription


class AffectedSearch(Protocol):
    """Finds clients whose restriction may differ before and after changes.

    It may find more: the server compares the restrictions of those that it finds. It must not miss
    one.
    """

    def add(self, client: str, subscription: SyncSubscription) -> None:
        """A client subscribes; a client has two subscriptions while it changes them."""

    def remove(self, client: str) -> Iterable[SyncSubscription]:
        """All subscriptions of a client end; returns those that no client has any more."""

    def affected(self, changes: Sequence[Change]) -> Iterable[str]:
        """The clients that changes may affect."""

    def reselecting(self, changes: Sequence[Change]) -> Iterable[SyncSubscription]:
        """The subscriptions that may select other nodes after changes; what changes only inside of
        a selected node does not count."""


class IndexedClients:
    """Finds clients in an index of what their subscriptions observe.

    Clients with equal subscriptions share an entry. Equal changes, such as those of the prices in a
    catalogue, are searched once.
    """

    def __init__(self, index: AffectedIndex | None = None) -> None:
        self._index = AffectedIndex() if index is None else index
        self._selections = AffectedIndex(selection_only=True)
        self._clients: dict[str, dict[str, None]] = {}
        """Clients by the id of their subscription."""
        self._ids: dict[str, dict[str, None]] = {}
        """Ids of subscriptions by client."""
        self._subscriptions: dict[str, SyncSubscription] = {}
        """By id."""

    def add(self, client: str, subscription: SyncSubscription) -> None:
        """A client subscribes."""
        key = repr(subscription)
        if key not in self._clients:
            for index in (self._index, self._selections):
                index.add(
                    key,
                    subscription.observed,
                    namespaces=dict(subscription.namespaces),
                    default_namespace=subscription.default_namespace or None,
                )
            self._subscriptions[key] = subscription
        self._clients.setdefault(key, {})[client] = None
        self._ids.setdefault(client, {})[key] = None

    def remove(self, client: str) -> Iterable[SyncSubscription]:
        """A client leaves."""
        left: list[SyncSubscription] = []
        for key in self._ids.pop(client, {}):
            clients = self._clients[key]
            clients.pop(client, None)
            if not clients:
                del self._clients[key]
                left.append(self._subscriptions.pop(key))
                self._index.remove(key)
                self._selections.remove(key)
        return left

    def affected(self, changes: Sequence[Change]) -> Iterable[str]:
        """The clients whose subscriptions observe what changed."""
        found: dict[str, None] = {}
        for change in dict.fromkeys(changes):
            for key in self._index.affected(change).ids:
                found.update(self._clients[key])
        return found

    def reselecting(self, changes: Sequence[Change]) -> Iterable[SyncSubscription]:
        """The subscriptions whose selection depends on what changed."""
        found: dict[SyncSubscription, None] = {}
        for change in dict.fromkeys(changes):
            for key in self._selections.affected(change).ids:
                found[self._subscriptions[key]] = None
        return found
