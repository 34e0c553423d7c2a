"""What a router asks its driver to do, and what it reports."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from penstock.documents import DeadLetter, Document, Fragment
from penstock.routing.router_messages import RouterMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class SendMessage:
    """Send a message to a neighbour, in the order of the outputs."""

    neighbour: str
    message: RouterMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """Hand a document to a subscriber of this router."""

    subscription: str
    subscriber: str
    document: Document
    fragments: tuple[Fragment, ...] | None = None
    """The selected fragments, if the subscription requests them. ``None`` also if they cannot be
    computed within the limits; then the document stands for them."""

    fragments_omitted: int = 0
    """Number of fragments beyond the maximum of the subscription."""


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
