"""Sessions with neighbours: their links, and keeping the replicas of their interests up to date."""

from __future__ import annotations

from penstock.errors import PenstockError, QueryError, error
from penstock.routing.aggregate_delta import AggregateReplica
from penstock.routing.interest_announcer import InterestAnnouncer
from penstock.routing.interest_index import InterestIndex, pattern_targets
from penstock.routing.limits import RouterLimits
from penstock.routing.member_names import neighbour_members
from penstock.routing.neighbour_router import UNKNOWN_INTEREST, NeighbourRouter
from penstock.routing.neighbour_transitions import (
    REQUEST_IS_REPEATED,
    REQUEST_IS_SENT,
    NeighbourInput,
    NeighbourStatus,
)
from penstock.routing.router_messages import (
    AnnotationReport,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    RouterMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.router_outputs import (
    MessageRefused,
    Outputs,
    SendMessage,
    discarded_for,
)
from penstock.routing.router_state import RouterCounters


class NeighbourSessions:
    """Handles what happens on links, except the arrival of documents."""

    def __init__(
        self,
        index: InterestIndex,
        announcer: InterestAnnouncer,
        counts: RouterCounters,
        limits: RouterLimits,
    ) -> None:
        self._index = index
        self._announcer = announcer
        self._counts = counts
        self._limits = limits

    def link_up(self, neighbour: NeighbourRouter, *, is_authenticated: bool) -> Outputs:
        """Messages can be sent; the documents that waited for it are sent."""
        neighbour.authenticate(is_authenticated=is_authenticated)
        yield from self._advance(neighbour, NeighbourInput.LINK_UP)
        for document in neighbour.queue.drain():
            yield SendMessage(neighbour=neighbour.name, message=document)

    def link_down(self, neighbour: NeighbourRouter) -> Outputs:
        """The link is broken, and the session is kept."""
        return self._advance(neighbour, NeighbourInput.LINK_DOWN)

    def link_reset(
        self, neighbour: NeighbourRouter, unacknowledged: tuple[ForwardedDocument, ...]
    ) -> Outputs:
        """The session ended; its documents without acknowledgement are sent in the next one."""
        yield from self._advance(neighbour, NeighbourInput.LINK_RESET)
        discarded = neighbour.queue.prepend(unacknowledged)
        self._counts.discarded += len(discarded)
        yield from discarded_for(neighbour.name, discarded)

    def receive(self, neighbour: NeighbourRouter, message: RouterMessage) -> Outputs:
        """A message that is no document.

        Raises
        ------
        RoutingError
            ``routing.link``: the link is down.
        """
        match message:
            case AnnotationReport() as report:
                # Like a document, it changes nothing in what is known of the neighbour's interest.
                neighbour.next_status(NeighbourInput.DOCUMENT)
                neighbour.annotator.gain.reported(report)
            case DigestRequest() as request:
                yield from self._advance(neighbour, NeighbourInput.DIGEST_REQUEST)
                answer = neighbour.announced.answer(request)
                yield SendMessage(neighbour=neighbour.name, message=answer)
            case DigestConfirmation(number=number) | SubscriptionSnapshot(number=number) if (
                number != neighbour.requests
            ):
                yield from self._advance(neighbour, NeighbourInput.LATE_ANSWER)
            case DigestConfirmation(digest=digest):
                is_same = neighbour.is_known and digest == neighbour.interest.digest
                yield from self._advance(
                    neighbour,
                    NeighbourInput.CONFIRMATION if is_same else NeighbourInput.BAD_CONFIRMATION,
                )
            case SubscriptionDelta() as delta:
                yield from self._delta(neighbour, delta)
            case SubscriptionSnapshot() as snapshot:
                yield from self._snapshot(neighbour, snapshot)

    def _advance(self, neighbour: NeighbourRouter, input_: NeighbourInput) -> Outputs:
        """Applies the transition table; requests the digest where the table demands it."""
        previous = neighbour.status
        neighbour.enter(neighbour.next_status(input_))
        if neighbour.status in REQUEST_IS_SENT and (
            neighbour.status is not previous or input_ in REQUEST_IS_REPEATED
        ):
            digest = neighbour.interest.digest if neighbour.is_known else ""
            neighbour.requests += 1
            request = DigestRequest(number=neighbour.requests, digest=digest)
            yield SendMessage(neighbour=neighbour.name, message=request)

    def _delta(self, neighbour: NeighbourRouter, delta: SubscriptionDelta) -> Outputs:
        was_in_step = neighbour.status is NeighbourStatus.IN_STEP
        neighbour.next_status(NeighbourInput.BAD_DELTA)  # raises if the link is down
        try:
            changed = neighbour.after_delta(delta, self._limits)
            outputs = tuple(self._set_interest(neighbour, changed))
        except PenstockError as problem:
            # While a request is on its way, deltas from before its answer are expected not to fit.
            if was_in_step or problem.code != "routing.digest":
                yield self._refused(neighbour, problem)
            yield from self._advance(neighbour, NeighbourInput.BAD_DELTA)
        else:
            yield from self._advance(neighbour, NeighbourInput.DELTA)
            yield from outputs

    def _snapshot(self, neighbour: NeighbourRouter, snapshot: SubscriptionSnapshot) -> Outputs:
        neighbour.next_status(NeighbourInput.SNAPSHOT)  # raises if the link is down
        try:
            stated = neighbour.after_snapshot(snapshot, self._limits)
            outputs = tuple(self._set_interest(neighbour, stated))
        except PenstockError as problem:
            yield self._refused(neighbour, problem)
            yield from self._advance(neighbour, NeighbourInput.BAD_SNAPSHOT)
            yield from self._set_interest(neighbour, AggregateReplica(UNKNOWN_INTEREST))
        else:
            yield from self._advance(neighbour, NeighbourInput.SNAPSHOT)
            yield from outputs

    def _refused(self, neighbour: NeighbourRouter, problem: PenstockError) -> MessageRefused:
        self._counts.refused_messages += 1
        return MessageRefused(neighbour=neighbour.name, code=problem.code, message=problem.message)

    def _set_interest(self, neighbour: NeighbourRouter, interest: AggregateReplica) -> Outputs:
        """Replaces the interest of a neighbour, and announces the change to the others."""
        added = interest.difference(neighbour.interest)
        removed = neighbour.interest.difference(interest)
        try:
            self._index.add(pattern_targets(neighbour.name, added))
        except QueryError as problem:
            raise error("routing.pattern", problem.message) from problem
        self._index.discard(pattern_targets(neighbour.name, removed))
        neighbour.replace_interest(interest, added, removed)
        self._index.set_interest(neighbour.name, neighbour.interest_digest)
        yield from self._announcer.announce(
            neighbour_members(neighbour.name, added),
            neighbour_members(neighbour.name, removed),
            neighbour,
        )
