"""Messages between clients and server. They are immutable, and validated when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.errors import error
from penstock.sync.document_tree import NodeId
from penstock.sync.limits import (
    CLIENT_NAME_CHARACTERS_MAX,
    INSERTED_NODES_MAX,
    REQUEST_STATEMENTS_MAX,
    STATEMENT_OPERATIONS_MAX,
    STATEMENT_TEXT_CHARACTERS_MAX,
)
from penstock.sync.operations import Insert, Operation
from penstock.sync.reports import Report
from penstock.sync.subscription import SyncSubscription


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmittedStatement:
    """A statement of a client, resolved into operations."""

    number: int
    """From 1, without gaps, over all clones of the client."""
    base: int
    """Version of the client's base when the statement was made."""
    operations: tuple[Operation, ...]
    text: str = ""
    """As the author wrote it; for people."""
    unseen: tuple[NodeId, ...] = ()
    """Nodes that the statement changes although the author's cache does not have them: it undoes an
    earlier one. What others did with them is not known to the author, whatever the base."""

    def __post_init__(self) -> None:
        _check_number(self.number, 1)
        _check_number(self.base)
        if not 0 < len(self.operations) <= STATEMENT_OPERATIONS_MAX:
            raise error("sync.message", "a statement has no operations, or too many")
        if len(self.text) > STATEMENT_TEXT_CHARACTERS_MAX:
            raise error("sync.message", "the text of a statement is too long")
        for operation in self.operations:
            if isinstance(operation, Insert) and len(operation.nodes) > INSERTED_NODES_MAX:
                raise error("sync.message", "an inserted subtree has too many nodes")


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneRequest:
    """A client wants a cache of its own."""

    client: str
    number: int
    """Greater than that of the client's earlier clones."""
    subscription: SyncSubscription
    previous: int = 0
    """The replica that the client had so far; 0 if none. Pending statements create nodes with its
    identities."""
    version: int = 0
    """Version of the base that the client had so far. What was decided after it was not reported to
    the client yet."""
    incarnation: int = 0
    """Of this version."""
    decided: int = 0
    """Number of the last statement that the client knows to be decided."""

    def __post_init__(self) -> None:
        _check_client(self.client)
        _check_number(self.decided)
        _check_number(self.number, 1)
        _check_number(self.previous)
        _check_number(self.version)
        _check_number(self.incarnation)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest:
    """A client acknowledges what it has, submits statements, and asks for what is new."""

    client: str
    replica: int
    version: int
    """Version of the client's base."""
    epoch: int
    """Number of the subscription that the base is a restriction to."""
    statements: tuple[SubmittedStatement, ...] = ()
    subscription: SyncSubscription | None = None
    """The subscription with number ``epoch + 1``, if the client wants to change it."""
    incarnation: int = 0
    """Of the version."""

    def __post_init__(self) -> None:
        _check_client(self.client)
        _check_number(self.incarnation)
        _check_number(self.replica, 1)
        _check_number(self.version)
        _check_number(self.epoch)
        if len(self.statements) > REQUEST_STATEMENTS_MAX:
            raise error("sync.message", "a request has too many statements")


Request: TypeAlias = CloneRequest | SyncRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneAnswer:
    """Answers a :class:`CloneRequest`."""

    client: str
    number: int
    """Number of the request."""
    replica: int
    """The client creates identities with it."""
    version: int
    decided: int
    """Number of the client's last statement that the server has decided."""
    snapshot: bytes
    """The restriction of the document."""
    reports: tuple[Report, ...] = ()
    """What happened to the client's operations since the base that it had so far, as far as the log
    reaches back."""
    unreported: int = 0
    """Number of the client's last statement that was decided since then, but before the log starts,
    so that there are no reports about it; 0 if there is none."""
    incarnation: int = 0
    """Of the version."""
    shared_version: int | None = None
    """The last version that the server and the client certainly have both had. It is before the
    client's if the server was restored from an older state. ``None`` if the client had none, or if
    that is not certain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateMessage:
    """All that concerns a client since its version."""

    client: str
    replica: int
    since: int
    """The version that the patch applies to."""
    version: int
    since_epoch: int
    epoch: int
    decided: int
    """Number of the client's last statement that the server has decided."""
    patch: bytes | None
    """``None`` if the restriction did not change."""
    reports: tuple[Report, ...] = ()
    incarnation: int = 0
    """Of the version: a number of the server that decided its last statement. Servers that are
    restored from the same state decide different statements; the incarnation tells them apart. 0 if
    it is not known."""
    since_incarnation: int = 0
    """Of the version that the patch applies to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneAgain:
    """The server cannot tell what is new since a version."""

    client: str
    replica: int
    version: int
    """The version of the request; the client ignores the message if it has another."""
    reason: str


Message: TypeAlias = CloneAnswer | UpdateMessage | CloneAgain


def _check_number(number: int, least: int = 0) -> None:
    if type(number) is not int or number < least:
        raise error("sync.message", f"a number is not an integer of at least {least}")


def _check_client(name: str) -> None:
    if type(name) is not str or not 0 < len(name) <= CLIENT_NAME_CHARACTERS_MAX:
        raise error("sync.message", "the name of a client is empty or too long")
