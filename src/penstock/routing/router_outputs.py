"""What a router asks its driver to do, and what it reports."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.documents import DeadLetter, Document, Fragment
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.router_messages import RouterMessage


class SendMessage(NamedTuple):
    """Send a message to a neighbour, in the order of the outputs."""

    neighbour: str
    message: RouterMessage


class Delivery(NamedTuple):
    """Hand a document to a subscriber of this router.

    A document can have thousands, so they are made as fast as possible: a tuple refers to the
    subscription.
    """

    recipient: LocalSubscription
    document: Document
    fragments: tuple[Fragment, ...] | None = None
    """The selected fragments, if the subscription requests them. ``None`` also if they cannot be
    computed within the limits; then the document stands for them."""

    fragments_omitted: int = 0
    """Number of fragments beyond the maximum of the subscription."""

    @property
    def subscription(self) -> str:
        """The id of the subscription."""
        return self.recipient.id

    @property
    def subscriber(self) -> str:
        """The subscriber."""
        return self.recipient.subscriber


def deliveries_of(document: Document, recipients: Iterable[LocalSubscription]) -> list[Delivery]:
    """The deliveries of a document to subscriptions that request no fragments."""
    # Half of the time of the constructor, which evaluates keywords and defaults.
    new = tuple.__new__
    return [new(Delivery, (recipient, document, None, 0)) for recipient in recipients]


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRefused:
    """A document was refused; it is neither delivered nor forwarded."""

    dead_letter: DeadLetter


@dataclass(frozen=True, slots=True, kw_only=True)
class SubscriptionsSetAside:
    """It is unknown whether a document matches these subscriptions of this router, because its work
    budget was spent; they do not receive it. All others are decided exactly."""

    document: Document
    subscriptions: tuple[str, ...]
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForwardDiscarded:
    """A document will not reach a neighbour: too many wait for its link."""

    neighbour: str
    document: Document
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRefused:
    """A message of a neighbour was refused, and changed nothing. The routers synchronise."""

    neighbour: str
    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourDistrusted:
    """A document was read, and the annotations of a neighbour proved to be wrong. The driver closes
    the link, and the router ignores the neighbour's annotations from now on."""

    neighbour: str
    document: Document
    code: str
    message: str


RouterOutput: TypeAlias = (
    SendMessage
    | Delivery
    | DocumentRefused
    | SubscriptionsSetAside
    | ForwardDiscarded
    | MessageRefused
    | NeighbourDistrusted
)
"""All outputs."""
