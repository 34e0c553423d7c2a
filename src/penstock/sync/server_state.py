"""What a server keeps: clients, and the changes that a store writes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.sync.subscription import SyncSubscription
from penstock.sync.update_log import LogEntry


@dataclass(frozen=True, slots=True)
class ClientRecord:
    """What the server knows of a client."""

    client: str
    clone_number: int
    """Number of its last clone."""
    replica: int
    previous_replicas: tuple[int, ...]
    """Replicas of earlier clones, whose identities its pending statements may use."""
    version: int
    """The greatest version that it acknowledged. Until it acknowledges its last clone, this is the
    version of the base before: the reports since then are still to be delivered."""
    decided: int
    """Number of its last decided statement."""
    epoch: int
    """Number of the subscription that its base is a restriction to."""
    subscription: SyncSubscription
    next_subscription: SyncSubscription | None = None
    """The subscription with number ``epoch + 1``, from when it is requested until it is
    acknowledged."""


@dataclass(slots=True)
class StateChanges:
    """What changed since the store wrote last. A store writes all of it in one transaction, and
    messages are sent only after that."""

    entries: list[LogEntry] = field(default_factory=list)
    """New entries of the log."""
    clients: dict[str, ClientRecord | None] = field(default_factory=dict)
    """New records of clients; ``None`` if a client left."""
    next_replica: int | None = None
    """The next number of a replica, if it changed."""
    checkpoint: Checkpoint | None = None
    """A new start of the log; the entries up to it are dropped."""

    def __bool__(self) -> bool:
        return bool(
            self.entries or self.clients or self.next_replica is not None or self.checkpoint
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The document at the start of the log."""

    version: int
    snapshot: bytes
    incarnations: tuple[tuple[int, int], ...] = ()
    """The runs of versions that incarnations of the server decided up to this one: the first
    version of each run, and the incarnation (:class:`~penstock.sync.incarnations.Incarnations`)."""


@dataclass(slots=True)
class StoredState:
    """Everything that a server is restored from."""

    checkpoint: Checkpoint
    entries: list[LogEntry] = field(default_factory=list)
    clients: dict[str, ClientRecord] = field(default_factory=dict)
    next_replica: int = 1

    def write(self, changes: StateChanges) -> None:
        """Applies changes, as a store does."""
        self.entries += changes.entries
        if changes.checkpoint is not None:
            self.checkpoint = changes.checkpoint
            self.entries = [
                entry for entry in self.entries if entry.version > changes.checkpoint.version
            ]
        if changes.next_replica is not None:
            self.next_replica = changes.next_replica
        self._write_clients(changes.clients.items())

    def _write_clients(self, clients: Iterable[tuple[str, ClientRecord | None]]) -> None:
        for name, record in clients:
            if record is None:
                self.clients.pop(name, None)
            else:
                self.clients[name] = record
