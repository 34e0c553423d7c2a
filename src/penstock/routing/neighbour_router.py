"""What a router keeps for each of its neighbours."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from penstock.errors import error
from penstock.routing.aggregate_delta import AggregateDelta, AggregateReplica
from penstock.routing.annotation_gain import ReceivedGain
from penstock.routing.annotation_kinds import AnnotationOptions
from penstock.routing.forward_queue import ForwardQueue
from penstock.routing.limits import RouterLimits
from penstock.routing.neighbour_annotator import NeighbourAnnotator
from penstock.routing.neighbour_patterns import parse_patterns
from penstock.routing.neighbour_transitions import (
    INTEREST_IS_KNOWN,
    LINK_IS_UP,
    NEIGHBOUR_TRANSITIONS,
    NeighbourInput,
    NeighbourStatus,
)
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.router_messages import SubscriptionDelta, SubscriptionSnapshot
from penstock.routing.router_state import NeighbourState
from penstock.routing.state_changes import (
    ChangeLog,
    NeighbourChanges,
    NeighbourValues,
    PatternChanges,
)
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
    """What the neighbour announced, or everything; changed by :meth:`replace_interest`."""

    announced: Announcement
    """What is announced to the neighbour."""

    queue: ForwardQueue
    requests: int
    """Number of digest requests that were sent to the neighbour."""

    annotator: NeighbourAnnotator
    """Makes the annotations that the neighbour gets."""

    received_gain: ReceivedGain = field(default_factory=ReceivedGain)
    """What the neighbour's annotations saved."""

    sampled_at: int = 0
    """Number of documents that the router's synopsis had observed when :attr:`announced` was last
    estimated by it."""

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
    _pattern_changes: PatternChanges | None = None
    """Where changes of the interest are recorded, if anywhere."""

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

    def use_annotations(self, options: AnnotationOptions) -> None:
        """From now on, make other annotations, and report only what those from now on saved."""
        self.annotator.use(options)
        self.received_gain = ReceivedGain()

    def distrust(self) -> None:
        """The neighbour's annotations proved to be wrong; they are not used any more."""
        self._is_distrusted = True
        self.is_trusted = False

    @property
    def is_known(self) -> bool:
        """Whether the neighbour's interest is known."""
        return self.status in INTEREST_IS_KNOWN

    @property
    def interest_digest(self) -> bytes:
        """The digest of :attr:`interest`."""
        return bytes.fromhex(self.interest.digest)

    def state(self) -> NeighbourState:
        """What is kept when the router stops."""
        patterns = tuple(pattern.key for pattern in self.interest.patterns)
        return NeighbourState(
            name=self.name,
            patterns=patterns if self.is_known else None,
            waiting=self.queue.documents,
            requests=self.requests,
        )

    def values(self) -> NeighbourValues:
        """What is stored besides the changes that :meth:`record` collects."""
        return NeighbourValues(is_known=self.is_known, requests=self.requests)

    def record(self, log: ChangeLog) -> None:
        """From now on, changes are recorded here."""
        changes = log.neighbours[self.name] = NeighbourChanges()
        self._pattern_changes = changes.patterns
        self.queue.changes = changes.waiting

    def replace_interest(
        self, interest: AggregateReplica, added: Iterable[Pattern], removed: Iterable[Pattern]
    ) -> None:
        """Change the interest, which gains and loses these patterns."""
        self.interest = interest
        self.annotator.replace_interest(interest)
        if self._pattern_changes is not None:
            # Of a neighbour whose interest was unknown, nothing is stored.
            stated = added if self.is_known else interest.patterns
            self._pattern_changes.change(stated, removed)

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


def _check_count(count: int, limits: RouterLimits) -> None:
    if count > limits.neighbour_patterns:
        raise error(
            "routing.too-many-patterns",
            f"{count:,} patterns, more than {limits.neighbour_patterns:,}",
        )
