"""What a router keeps for each of its neighbours."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import error
from penstock.routing.aggregate_delta import AggregateDelta, AggregateReplica
from penstock.routing.annotation_gain import AnnotationGain, ReceivedGain
from penstock.routing.annotation_header import LIST_HEADER_BYTES
from penstock.routing.forward_queue import ForwardQueue
from penstock.routing.limits import (
    PREPARED_PATTERNS_FREE,
    PREPARED_PATTERNS_PER_DOCUMENT,
    PREPARED_TARGETS_PER_DOCUMENT,
    RouterLimits,
)
from penstock.routing.neighbour_patterns import parse_patterns
from penstock.routing.neighbour_transitions import (
    INTEREST_IS_KNOWN,
    LINK_IS_UP,
    NEIGHBOUR_TRANSITIONS,
    NeighbourInput,
    NeighbourStatus,
)
from penstock.routing.patterns import UNIVERSAL
from penstock.routing.router_messages import SubscriptionDelta, SubscriptionSnapshot
from penstock.routing.sent_annotations import AnnotationMaker
from penstock.routing.stored_interest import Announcement

UNKNOWN_INTEREST = (UNIVERSAL,)
"""The interest of a neighbour that has not stated it: everything, so that nothing is lost."""


@dataclass(slots=True, kw_only=True)
class NeighbourRouter:
    """The link to a neighbour: its interest, ours, and what waits for the link."""

    name: str
    group: int
    """The group of its patterns in the index."""

    status: NeighbourStatus
    """Changed by :meth:`enter`."""

    interest: AggregateReplica
    """What the neighbour announced, or everything."""

    announced: Announcement
    """What is announced to the neighbour."""

    queue: ForwardQueue
    requests: int
    """Number of digest requests that were sent to the neighbour."""

    gain: AnnotationGain
    """Decides which annotations the neighbour gets."""

    received_gain: ReceivedGain = field(default_factory=ReceivedGain)
    """What the neighbour's annotations saved."""

    maker: AnnotationMaker | None = None
    """Makes annotations that are derived from label paths; made when its interest is stable."""

    sampled_at: int = 0
    """Number of documents that the router's synopsis had observed when :attr:`announced` was last
    estimated by it."""

    documents_since_change: int = 0
    """Documents that were annotated for the neighbour since its interest changed."""

    interest_digest: bytes = b""
    """The digest of :attr:`interest`."""

    announced_digest: bytes = b""
    """The digest of :attr:`announced`."""

    is_authenticated: bool = False
    """Whether the neighbour proved who it is when the link came up; see :meth:`authenticate`."""

    is_trusted: bool = False
    """Whether the neighbour's annotations are used: it is authenticated, and none of them proved
    to be wrong."""

    is_up: bool = field(init=False)
    """Whether messages can be sent; see :meth:`enter`."""

    _is_distrusted: bool = False

    def __post_init__(self) -> None:
        self.enter(self.status)

    def enter(self, status: NeighbourStatus) -> None:
        """Changes the status."""
        self.status = status
        self.is_up = status in LINK_IS_UP

    def authenticate(self, *, is_authenticated: bool) -> None:
        """The neighbour proved who it is, or did not."""
        self.is_authenticated = is_authenticated
        self.is_trusted = is_authenticated and not self._is_distrusted

    def distrust(self) -> None:
        """The neighbour's annotations proved to be wrong; they are not used any more."""
        self._is_distrusted = True
        self.is_trusted = False

    @property
    def is_known(self) -> bool:
        """Whether the neighbour's interest is known."""
        return self.status in INTEREST_IS_KNOWN

    def sent_list(self, header_bytes: int) -> None:
        """Counts a document that is sent with a match list alone, as most are."""
        self.documents_since_change += 1
        self.gain.sent_match_list(header_bytes - LIST_HEADER_BYTES)

    def annotation_maker(self, *, is_adaptive: bool) -> AnnotationMaker | None:
        """Makes annotations for the neighbour; ``None`` while its interest changes too often."""
        if self.maker is None and len(self.interest) <= prepared_patterns(
            self.documents_since_change, is_adaptive=is_adaptive
        ):
            ranked = sorted(self.interest.patterns, key=lambda pattern: pattern.digest)
            self.maker = AnnotationMaker(ranked)
        return self.maker

    def next_status(self, input_: NeighbourInput) -> NeighbourStatus:
        """The status after an input.

        Raises
        ------
        RoutingError
            ``routing.link``: the input is a message, and the link is down.
        """
        row = NEIGHBOUR_TRANSITIONS[self.status]
        if input_ not in row:
            raise error(
                "routing.link", f"a message of `{self.name}`, whose link is {self.status.value}"
            )
        return row[input_]

    def after_delta(self, delta: SubscriptionDelta, limits: RouterLimits) -> AggregateReplica:
        """The neighbour's interest after a delta, which is not applied yet.

        Raises
        ------
        RoutingError
            ``routing.digest``, ``routing.pattern`` or ``routing.too-many-patterns``.
        """
        if not self.is_known or delta.before != self.interest.digest:
            raise error("routing.digest", "the delta applies to another state of the set")
        leaving = set(delta.removed)
        if not all(digest in self.interest for digest in leaving):
            raise error("routing.digest", "the delta removes a pattern that is not in the set")
        _check_count(len(self.interest) + len(delta.added) - len(leaving), limits)
        return self.interest.after(
            AggregateDelta(
                before=delta.before,
                after=delta.after,
                added=parse_patterns(delta.added),
                removed=delta.removed,
            )
        )

    def after_snapshot(
        self, snapshot: SubscriptionSnapshot, limits: RouterLimits
    ) -> AggregateReplica:
        """The neighbour's interest as a snapshot states it.

        Raises
        ------
        RoutingError
            ``routing.digest``, ``routing.pattern`` or ``routing.too-many-patterns``.
        """
        _check_count(len(snapshot.patterns), limits)
        stated = AggregateReplica(parse_patterns(snapshot.patterns))
        if stated.digest != snapshot.digest:
            raise error("routing.digest", "the snapshot is not the set that it states")
        return stated


def prepared_patterns(documents: int, *, is_adaptive: bool) -> int:
    """For how many patterns annotations derived from label paths are prepared.

    Parameters
    ----------
    documents
        Documents since the last change of the patterns.
    is_adaptive
        Whether kinds are chosen by what they save.
    """
    if is_adaptive:
        return PREPARED_PATTERNS_FREE + PREPARED_PATTERNS_PER_DOCUMENT * documents
    return PREPARED_TARGETS_PER_DOCUMENT * documents


def _check_count(count: int, limits: RouterLimits) -> None:
    if count > limits.neighbour_patterns:
        raise error(
            "routing.too-many-patterns",
            f"{count:,} patterns, more than {limits.neighbour_patterns:,}",
        )
