"""What a client keeps when it is not running."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sync.client_transitions import ClientStatus
from penstock.sync.messages import SubmittedStatement
from penstock.sync.operations import Operation
from penstock.sync.reports import Report
from penstock.sync.subscription import SyncSubscription


@dataclass(frozen=True, slots=True)
class UndoableStatement:
    """A statement that can be undone, or an undone one that can be done again."""

    number: int
    """0 if the statement was withdrawn."""
    operations: tuple[Operation, ...]
    inverse: tuple[Operation, ...]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """Everything that a client is restored from."""

    name: str
    status: ClientStatus
    subscription: SyncSubscription
    wanted: SyncSubscription | None
    """A changed subscription that is not requested yet."""
    requested: SyncSubscription | None
    """A changed subscription that is requested."""
    clone_number: int
    replica: int
    version: int
    epoch: int
    next_node: int
    """Number of the last identity that the client created."""
    next_number: int
    """Number of the next statement."""
    sent_number: int
    """Number of the last statement that was sent."""
    base: bytes
    """Snapshot of the base."""
    pending: tuple[SubmittedStatement, ...]
    undoable: tuple[UndoableStatement, ...]
    redoable: tuple[UndoableStatement, ...]
    reports: tuple[Report, ...]
    """Reports that the application has not taken."""
    incarnation: int = 0
    """Of the version."""
