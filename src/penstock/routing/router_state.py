"""The state of a router as plain data, which a store can write."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.router_messages import ForwardedDocument

STATE_VERSION = 1
"""Version of :class:`RouterState`."""


@dataclass(slots=True, kw_only=True)
class RouterCounters:
    """What a router has done. A router counts in one of these, and hands out copies.

    Counts are conserved: ``received`` is the sum of ``duplicates``, ``matched``, ``unmatched`` and
    ``dead``.
    """

    received: int = 0
    """Documents from publishers and neighbours."""

    duplicates: int = 0
    """Documents that arrived before, and were ignored."""

    matched: int = 0
    """Documents that match a local subscription, active or not, or the interest of a neighbour
    other than the one that sent them."""

    unmatched: int = 0
    """Well-formed documents that match nothing."""

    dead: int = 0
    """Documents that were refused."""

    false_forwards: int = 0
    """Unmatched documents that a neighbour had forwarded."""

    deliveries: int = 0
    forwards: int = 0
    """Documents sent or queued for a neighbour, once for each."""

    discarded: int = 0
    """Forwards that were discarded because too many waited."""

    not_read: int = 0
    """Documents that annotations decided without reading them."""

    read_in_part: int = 0
    """Documents of which annotations decided the rest."""

    annotation_bytes: int = 0
    """Bytes of annotations in forwards."""

    ignored_annotations: int = 0
    """Annotations that could not be used: damaged, or for another document, limits or set."""

    verified_annotations: int = 0
    """Documents that were read although annotations decided them, to compare."""

    set_aside: int = 0
    """Subscriptions of this router that were set aside because a document's work budget was spent,
    once for each document."""

    refused_messages: int = 0
    forgotten_publishers: int = 0
    """Publishers whose duplicates are not recognised any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NeighbourState:
    """What is kept of a neighbour."""

    name: str
    patterns: tuple[str, ...] | None = None
    """Keys of the patterns of its interest; ``None`` if unknown."""

    waiting: tuple[ForwardedDocument, ...] = ()
    """Documents that wait for the link."""

    requests: int = 0
    """Number of digest requests, so that late answers are recognised after a restart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterState:
    """What a router needs to continue after a restart.

    A driver commits the state and the outputs of an input, and acknowledges the input, in one
    transaction. Links are down after a restart.
    """

    version: int = STATE_VERSION
    name: str
    subscriptions: tuple[LocalSubscription, ...] = ()
    neighbours: tuple[NeighbourState, ...] = ()
    remembered: tuple[tuple[str, tuple[bytes, ...]], ...] = ()
    """Publishers and the digests of their latest documents' identities."""

    counters: RouterCounters = field(default_factory=RouterCounters)
