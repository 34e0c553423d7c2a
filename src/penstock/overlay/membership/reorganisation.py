"""How a membership adapts the tree to the data: it asks children to move, and moves when asked."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.overlay.limits import AGENT_ROUND_SECONDS_MAX
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.attach_attempt import Candidate, Displacement
from penstock.overlay.membership.attach_attempts import AttachAttempts
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import (
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    EligibilityAnswer,
    EligibilityPending,
    EligibilityRequest,
    MoveRequest,
    OverheadAnswer,
    OverheadRequest,
)
from penstock.overlay.placement_search import Place, PlacementSearch
from penstock.overlay.tree_overlap import TreeOverlap

_S = MembershipState
_I = MembershipInput


class Reorganisation:
    """Asks children to move, and searches for a better place when asked."""

    __slots__ = (
        "_attempts",
        "_filter",
        "_move_allowed_at",
        "_overlap",
        "_position",
        "_search",
        "examine_at",
    )

    def __init__(
        self,
        position: TreePosition,
        filter_: AggregateFilter,
        overlap: TreeOverlap,
        attempts: AttachAttempts,
    ) -> None:
        self._position = position
        self._filter = filter_
        self._overlap = overlap
        self._attempts = attempts
        self._search: PlacementSearch | None = None
        """Of the last search; it is under way in the state ``SEARCHING``."""
        self._move_allowed_at = float("-inf")
        self.examine_at: float | None = None
        """When the overhead is examined next."""

    def start(self, now: float) -> None:
        """Examine the overhead from now on."""
        host = self._position.host
        if (
            self.examine_at is None
            and host.options.reorganise_seconds is not None
            and not self._position.is_root
        ):
            # Peers that move at the same time refuse each other.
            self.examine_at = now + host.random.random() * host.options.examine_seconds

    def stop(self) -> None:
        """Examine it no more."""
        self.examine_at = None

    def examine_if_due(self, now: float) -> None:
        """Ask children to move, if there are too many extraneous documents and it is time."""
        if self.examine_at is not None and now >= self.examine_at:
            seconds = self._position.host.options.examine_seconds
            self.examine_at = max(now, self.examine_at + seconds)
            self._examine(now)

    def _examine(self, now: float) -> None:
        position, overlap = self._position, self._overlap
        if position.state is not _S.CONNECTED or not overlap.statistics.is_primed():
            return
        options = position.host.options
        if overlap.overhead() <= options.overhead_threshold:
            return
        # Half an interval early, because examinations are not exactly as far apart.
        due = now + options.examine_seconds / 2
        chosen = overlap.children_to_move(options.child_choice, options.moves_per_round, due)
        for child in chosen:
            child.asked_at = now
            child.ask_again_at = now + options.ask_again_seconds(child.asked)
            child.asked += 1
            contribution = overlap.marginal_contribution(child)
            position.send(child.name, MoveRequest(position.source, contribution))

    def on_move_request(self, sender: str, message: MoveRequest, now: float) -> None:
        """The parent asks this peer to find a better place."""
        position = self._position
        if (
            position.state is not _S.CONNECTED
            or not position.is_parent(sender)
            or self._filter.is_locked
            or now < self._move_allowed_at
            or self._overlap.bitmap() is None
        ):
            return
        options = position.host.options
        self._move_allowed_at = now + options.move_wait_seconds
        if position.agent is None:
            position.go(_I.BEGIN_SEARCH)
            self.begin_search(now)
            return
        position.go(_I.ASK_ELIGIBILITY)
        request = position.next_number()
        position.send(
            position.agent,
            EligibilityRequest(position.source, request=request, overhead=message.overhead),
        )
        position.phase_at = now + options.answer_seconds

    def on_pending(self, sender: str, message: EligibilityPending, now: float) -> None:
        """The agent is there: its answer is awaited from the end of the round on."""
        if self._is_asked(sender, message.request):
            seconds = min(message.seconds, AGENT_ROUND_SECONDS_MAX)
            self._position.phase_at = now + seconds + self._position.host.options.answer_seconds

    def _is_asked(self, agent: str, request: int) -> bool:
        position = self._position
        is_asking = position.state is _S.ASKING and agent == position.agent
        return is_asking and request == position.numbers

    def on_eligibility(self, sender: str, message: EligibilityAnswer, now: float) -> None:
        """The agent has decided."""
        if not self._is_asked(sender, message.request):
            return
        if message.is_granted:
            self.grant(now)
        else:
            self._position.go(_I.DENIED)

    def grant(self, now: float) -> None:
        """The peer may move, as the agent says; without its answer, the peer's time-outs decide."""
        self._position.go(_I.GRANTED)
        self.begin_search(now)

    def begin_search(self, now: float) -> None:
        """Search for a better place, from the ancestors on."""
        position, options = self._position, self._position.host.options
        number = position.next_number()
        bitmap = self._overlap.bitmap()
        length = 1 if bitmap is None else bitmap.last - bitmap.first + 1
        self._search = PlacementSearch(
            number=number,
            searcher=position.name,
            path=position.path if bitmap is not None else (),
            placement=options.placement,
            probes_max=options.limits.search_probes,
            gain_min=options.delta_threshold,
            scale=options.limits.window_documents / length,
            has_room=position.host.spare_capacity() > 0,
            children=self._overlap.child_bitmaps(),
        )
        self._probe(self._search, now)

    def _probe(self, search: PlacementSearch, now: float) -> None:
        position, bitmap = self._position, self._overlap.bitmap()
        options = position.host.options
        if bitmap is not None:
            for peer in search.next_probes(options.parallel_probes):
                position.send(
                    peer, OverheadRequest(position.source, search.number, bitmap, position.path)
                )
        if bitmap is None or search.is_finished:
            self.finish_search(now)
        else:
            position.phase_at = now + options.answer_seconds

    def on_overhead_answer(self, sender: str, message: OverheadAnswer, now: float) -> None:
        """A peer says what it would cost there."""
        search = self._search
        if (
            self._position.state is not _S.SEARCHING
            or search is None
            or message.search != search.number
        ):
            return
        search.take_answer(sender, message)
        self._probe(search, now)

    def finish_search(self, now: float) -> None:
        """The search is over, or its time is."""
        found = self._search.improvements() if self._search is not None else []
        self._search = None
        self.move(found, now)

    def move(self, places: Iterable[Place], now: float) -> None:
        """Move to one of the places that were found, the first if possible."""
        candidates = []
        for parent, peer, passed_on in places:
            displaced = None if peer is None else Displacement(peer, passed_on)
            candidates.append(Candidate(0.0, 0, 0.0, parent, displaced))
        if not candidates or self._filter.is_locked:
            self._position.go(_I.NO_PLACE)
            return
        self._position.go(_I.PLACE_FOUND)
        self._attempts.candidates = candidates
        self._attempts.try_next(now)
