"""What the store of a router reads and writes."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from penstock.documents import DeadLetter, Document
from penstock.routing import (
    ForwardedDocument,
    RouterState,
    StateChanges,
)


@dataclass(frozen=True, slots=True)
class OutboxMessage:
    """A message to a neighbour that is not acknowledged: a document, or an encoded message."""

    position: int
    document: ForwardedDocument | None = None
    kind: int = 0
    payload: bytes = b""


@dataclass(slots=True)
class LinkState:
    """The session with a neighbour, and the messages that it has not acknowledged."""

    session_id: bytes = b""
    base: int = 0
    """Position of the message before the first one of the session."""
    sent: int = 0
    """Position of the last message."""
    stored: int = 0
    """Sequence number of the last message that was received in the session."""
    outbox: list[OutboxMessage] = field(default_factory=list)


@dataclass(slots=True)
class SubscriberState:
    """The numbers of a subscriber's deliveries."""

    last: int = 0
    acknowledged: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDelivery:
    """A delivery that a subscriber has not acknowledged."""

    subscriber: str
    number: int
    subscription: str
    document: Document
    fragments: str | None = None
    """The fragments as a JSON array."""
    fragments_omitted: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDeadLetter:
    """A document that a router refused."""

    number: int
    document: Document
    code: str
    message: str
    refused_at: datetime
    report: str | None
    """What to send to the maintainers, as JSON, if a defect of Penstock is the cause."""


@dataclass(slots=True)
class StoredRouter:
    """Everything that a store has, except the deliveries."""

    store_id: str
    state: RouterState
    links: dict[str, LinkState]
    subscribers: dict[str, SubscriberState]
    delivery_bytes: dict[str, dict[int, int]]
    """The bytes of the deliveries to each subscriber that are not acknowledged, by number."""
    journal_position: int | None
    set_aside: dict[str, int]
    """Documents for which each subscription was set aside."""


@dataclass(slots=True)
class LinkChanges:
    """What changed on the link to a neighbour."""

    state: LinkState
    """Its current values; the outbox is not read."""
    added: list[OutboxMessage] = field(default_factory=list)
    removed_upto: int = 0
    """Position of the last message that was removed."""


@dataclass(slots=True)
class RouterTransaction:
    """The effects of several inputs."""

    changes: StateChanges | None = None
    links: dict[str, LinkChanges] = field(default_factory=dict)
    deliveries: list[StoredDelivery] = field(default_factory=list)
    subscribers: dict[str, SubscriberState] = field(default_factory=dict)
    """Subscribers whose numbers changed."""
    dead_letters: list[DeadLetter] = field(default_factory=list)
    journal_position: int | None = None
    own_documents: list[int] = field(default_factory=list)
    set_aside: dict[str, int] = field(default_factory=dict)
    """Documents for which subscriptions were set aside, all that were; 0 removes the row."""
    handled: list[str] = field(default_factory=list)
    """Marks of handled inputs during which the process had ended uncleanly before."""

    @property
    def has_rows(self) -> bool:
        """Whether there is anything to write besides the changes of the core."""
        return bool(
            self.links
            or self.deliveries
            or self.subscribers
            or self.dead_letters
            or self.own_documents
            or self.set_aside
            or self.handled
            or self.journal_position is not None
        )
