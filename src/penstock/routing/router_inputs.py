"""What happens to a router. Inputs are immutable, and validated when they are made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from penstock.documents import Document
from penstock.errors import DocumentError, error
from penstock.mediation.mapping_table import MappingTable
from penstock.routing.annotation_kinds import AnnotationOptions
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.router_messages import ForwardedDocument, RouterMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class AddNeighbour:
    """The router gets another neighbour, whose link is down and whose interest is unknown."""

    neighbour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkUp:
    """The link to a neighbour is established: messages can be sent."""

    neighbour: str
    is_authenticated: bool = False
    """Whether the neighbour proved who it is. Only then its annotations are used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkDown:
    """The link to a neighbour is broken. Its session keeps what was sent and not acknowledged, and
    transmits it again when it is resumed."""

    neighbour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkReset:
    """The session with a neighbour ended; the next one starts without its state.

    The link counts as down until :class:`LinkUp`.
    """

    neighbour: str
    unacknowledged: tuple[ForwardedDocument, ...] = ()
    """Documents that were sent in the old session and not acknowledged, in order. They are sent
    again. Other messages need not be: the routers synchronise."""

    def __post_init__(self) -> None:
        if not all(isinstance(each, ForwardedDocument) for each in self.unacknowledged):
            raise error("routing.message", "what is sent again are documents")


class MessageReceived(NamedTuple):
    """A message of a neighbour, exactly once and in order within its session."""

    neighbour: str
    message: RouterMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscribe:
    """Subscribers of this router leave subscriptions, all or none. Add many at once."""

    subscriptions: tuple[LocalSubscription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeTimes:
    """Subscriptions of this router get other times, all or none; nothing else in them changes.

    Neighbours get no message: they must not stop forwarding in between.
    """

    subscriptions: tuple[LocalSubscription, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsubscribe:
    """Subscriptions of this router are removed, all or none."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """A publisher that is attached to this router publishes a document."""

    document: Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Refuse:
    """A document that was published or forwarded is refused without being read, because the driver
    knows that processing it fails."""

    document: Document
    reason: DocumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class MappingsChanged:
    """The mediator distributes a new mapping table."""

    table: MappingTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationsChanged:
    """From now on, other annotations are sent, used or verified."""

    options: AnnotationOptions


RouterInput: TypeAlias = (
    AddNeighbour
    | LinkUp
    | LinkDown
    | LinkReset
    | MessageReceived
    | Subscribe
    | ChangeTimes
    | Unsubscribe
    | Publish
    | Refuse
    | MappingsChanged
    | AnnotationsChanged
)
"""All inputs."""
