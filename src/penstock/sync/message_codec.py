"""The encoded form of requests, messages, the state of a client and records of a server.

An encoded value begins with three letters and the version of the format. What is invalid is refused
with ``sync.message``, or with the error of the part that is invalid, such as a query.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.sync.client_state import ClientState
from penstock.sync.dataclass_codec import DataclassCodec
from penstock.sync.document_tree import NewNode
from penstock.sync.limits import (
    INSERTED_NODES_MAX,
    NODE_ATTRIBUTES_MAX,
    PENDING_STATEMENTS_MAX,
    REQUEST_STATEMENTS_MAX,
    STATEMENT_OPERATIONS_MAX,
    SUBSCRIPTION_NAMESPACES_MAX,
    UNDO_STATEMENTS_MAX,
)
from penstock.sync.messages import (
    CloneAnswer,
    CloneRequest,
    Message,
    Request,
    SubmittedStatement,
    SyncRequest,
    UpdateMessage,
)
from penstock.sync.operations import Insert
from penstock.sync.server_state import ClientRecord
from penstock.sync.subscription import SyncSubscription
from penstock.sync.update_log import LogEntry

FORMAT_VERSION: Final = 1
"""Version of requests, messages and stored states."""

_LENGTHS: Final[Mapping[tuple[type, str], int]] = {
    (SyncRequest, "statements"): REQUEST_STATEMENTS_MAX,
    (SubmittedStatement, "operations"): STATEMENT_OPERATIONS_MAX,
    (SubmittedStatement, "unseen"): STATEMENT_OPERATIONS_MAX,
    (Insert, "nodes"): INSERTED_NODES_MAX,
    (NewNode, "attributes"): NODE_ATTRIBUTES_MAX,
    (NewNode, "declarations"): NODE_ATTRIBUTES_MAX,
    (SyncSubscription, "namespaces"): SUBSCRIPTION_NAMESPACES_MAX,
    (ClientState, "pending"): PENDING_STATEMENTS_MAX,
    (ClientState, "undoable"): UNDO_STATEMENTS_MAX,
}

_ADDED: Final = (
    (SyncSubscription, "language"),
    (CloneRequest, "version"),
    (CloneRequest, "incarnation"),
    (CloneRequest, "decided"),
    (CloneAnswer, "reports"),
    (CloneAnswer, "unreported"),
    (CloneAnswer, "incarnation"),
    (CloneAnswer, "shared_version"),
    (SyncRequest, "incarnation"),
    (SubmittedStatement, "unseen"),
    (UpdateMessage, "incarnation"),
    (UpdateMessage, "since_incarnation"),
    (LogEntry, "incarnation"),
    (ClientState, "incarnation"),
)

_REQUESTS: Final[DataclassCodec[Request]] = DataclassCodec(
    CloneRequest | SyncRequest,
    prefix=b"PSR" + bytes([FORMAT_VERSION]),
    lengths=_LENGTHS,
    added=_ADDED,
)
_MESSAGES: Final[DataclassCodec[tuple[Message, ...]]] = DataclassCodec(
    tuple[Message, ...], prefix=b"PSM" + bytes([FORMAT_VERSION]), lengths=_LENGTHS, added=_ADDED
)
_STATES: Final[DataclassCodec[ClientState]] = DataclassCodec(
    ClientState, prefix=b"PSC" + bytes([FORMAT_VERSION]), lengths=_LENGTHS, added=_ADDED
)

_RECORDS: Final[DataclassCodec[LogEntry | ClientRecord]] = DataclassCodec(
    LogEntry | ClientRecord, prefix=b"PSS" + bytes([FORMAT_VERSION]), added=_ADDED
)

_ENTRIES: Final[DataclassCodec[tuple[LogEntry, ...]]] = DataclassCodec(
    tuple[LogEntry, ...], prefix=b"PSE" + bytes([FORMAT_VERSION]), added=_ADDED
)


def encode_request(request: Request) -> bytes:
    """The bytes of a request.

    Examples
    --------
    >>> from penstock.sync import Client, SyncSubscription
    >>> request = Client("tablet", SyncSubscription("/menu/dish")).clone()
    >>> decode_request(encode_request(request)) == request
    True
    """
    return _REQUESTS.encode(request)


def decode_request(data: bytes) -> Request:
    """The request of bytes.

    Raises
    ------
    PenstockError
        ``sync.message``: they are malformed; or the query of a subscription is refused.
    """
    return _REQUESTS.decode(data)


def encode_messages(messages: tuple[Message, ...]) -> bytes:
    """The bytes of messages to a client."""
    return _MESSAGES.encode(messages)


def decode_messages(data: bytes) -> tuple[Message, ...]:
    """The messages of bytes.

    Raises
    ------
    PenstockError
        ``sync.message``: they are malformed.
    """
    return _MESSAGES.decode(data)


def encode_state(state: ClientState) -> bytes:
    """The bytes of the state of a client."""
    return _STATES.encode(state)


def decode_state(data: bytes) -> ClientState:
    """The state of bytes.

    Raises
    ------
    PenstockError
        ``sync.message``: they are malformed.
    """
    return _STATES.decode(data)


def encode_record(record: LogEntry | ClientRecord) -> bytes:
    """The bytes of what a server keeps of a statement or a client."""
    return _RECORDS.encode(record)


def decode_record(data: bytes) -> LogEntry | ClientRecord:
    """The record of bytes.

    Raises
    ------
    PenstockError
        ``sync.message``: they are malformed.
    """
    return _RECORDS.decode(data)


def encode_entries(entries: tuple[LogEntry, ...]) -> bytes:
    """The bytes of entries of a server's log."""
    return _ENTRIES.encode(entries)


def decode_entries(data: bytes) -> tuple[LogEntry, ...]:
    """The entries of bytes."""
    return _ENTRIES.decode(data)
