"""What a router asks its driver to do, and what it reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from penstock.documents import DeadLetter, Document, Fragment
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.router_messages import ForwardedDocument, RouterMessage


class SendMessage(NamedTuple):
    """Send a message to a neighbour, in the order of the outputs."""

    neighbour: str
    message: RouterMessage


class SelectedFragments(NamedTuple):
    """The fragments that a subscription selected in a document."""

    fragments: tuple[Fragment, ...]
    omitted: int = 0
    """Number of fragments beyond the maximum of the subscription."""

    xml: tuple[str, ...] = ()
    """The fragments as standalone XML, in the same order."""


NONE_SELECTED: Final[Mapping[str, SelectedFragments]] = {}


class Deliveries(NamedTuple):
    """Hand a document to subscribers of this router.

    A document can have thousands of recipients, so all of them are in one output.
    """

    document: Document
    recipients: tuple[LocalSubscription, ...]
    """In the order in which they subscribed; at least one."""

    selected: Mapping[str, SelectedFragments] = NONE_SELECTED
    """By id of a subscription that requests fragments. It is not in here if they cannot be computed
    within the limits; then the document stands for them."""

    def each(self) -> list[Delivery]:
        """The deliveries one by one."""
        found = map(self.selected.get, (recipient.id for recipient in self.recipients))
        return [
            Delivery(recipient, self.document)
            if selected is None
            else Delivery(recipient, self.document, *selected)
            for recipient, selected in zip(self.recipients, found, strict=True)
        ]


# Made for every document and hop. The generated constructors of named tuples take twice as long.


def sent_to(neighbour: str, message: RouterMessage) -> SendMessage:
    """A message to a neighbour."""
    return tuple.__new__(SendMessage, (neighbour, message))


def delivered_to(recipients: tuple[LocalSubscription, ...], document: Document) -> Deliveries:
    """The deliveries of a document to subscriptions that request no fragments."""
    return tuple.__new__(Deliveries, (document, recipients, NONE_SELECTED))


class Delivery(NamedTuple):
    """A document for one subscriber: see :meth:`Deliveries.each`."""

    recipient: LocalSubscription
    document: Document
    fragments: tuple[Fragment, ...] | None = None
    """The selected fragments, if the subscription requests them. ``None`` also if they cannot be
    computed within the limits; then the document stands for them."""

    fragments_omitted: int = 0
    """Number of fragments beyond the maximum of the subscription."""

    xml: tuple[str, ...] = ()
    """The fragments as standalone XML, in the same order."""

    @property
    def subscription(self) -> str:
        """The id of the subscription."""
        return self.recipient.id

    @property
    def subscriber(self) -> str:
        """The subscriber."""
        return self.recipient.subscriber


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


def discarded_for(
    neighbour: str, documents: Iterable[ForwardedDocument]
) -> tuple[ForwardDiscarded, ...]:
    """Reports of documents that the queue of a neighbour discarded."""
    message = f"too many documents wait for the link to `{neighbour}`"
    return tuple(
        ForwardDiscarded(
            neighbour=neighbour,
            document=each.document,
            code="routing.queue-full",
            message=message,
        )
        for each in documents
    )


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
    | Deliveries
    | DocumentRefused
    | SubscriptionsSetAside
    | ForwardDiscarded
    | MessageRefused
    | NeighbourDistrusted
)
"""All outputs."""

Outputs: TypeAlias = Iterator[RouterOutput]
