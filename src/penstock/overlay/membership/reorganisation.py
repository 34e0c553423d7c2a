"""How a membership moves to a better place when the data changes."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.overlay.limits import AGENT_ROUND_SECONDS_MAX
from penstock.overlay.membership.base import Candidate, Displacement
from penstock.overlay.membership.departure import LeavePart
from penstock.overlay.membership.transitions import (
    ACCEPTS_CHILDREN,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    ChildCost,
    EligibilityAnswer,
    EligibilityPending,
    EligibilityRequest,
    MoveRequest,
    OverheadAnswer,
    OverheadRequest,
)
from penstock.overlay.placement_search import Place, PlacementSearch

_S = MembershipState
_I = MembershipInput


class ReorganisationPart(LeavePart):
    """Asks children to move, and searches for a better place when asked."""

    def examine_overhead(self, now: float) -> None:
        """Ask a child to move, if there are too many extraneous documents."""
        if self.state is not _S.CONNECTED or not self.overlap.statistics.is_primed():
            return
        if self.overlap.overhead() <= self._options.overhead_threshold:
            return
        options = self._options
        # Half an interval early, because examinations are not exactly as far apart.
        due = now + options.examine_seconds / 2
        chosen = self.overlap.children_to_move(options.child_choice, options.moves_per_round, due)
        for child in chosen:
            child.asked_at = now
            child.ask_again_at = now + options.ask_again_seconds(child.asked)
            child.asked += 1
            contribution = self.overlap.marginal_contribution(child)
            self._send(child.name, MoveRequest(self.source, contribution))

    def _on_move_request(self, sender: str, message: MoveRequest, now: float) -> None:
        if (
            self.state is not _S.CONNECTED
            or sender != self.parent
            or self.is_locked
            or now < self._move_allowed_at
            or self.overlap.bitmap() is None
        ):
            return
        self._move_allowed_at = now + self._options.move_wait_seconds
        if self.agent is None:
            self._go(_I.BEGIN_SEARCH)
            self._begin_search(now)
            return
        self._go(_I.ASK_ELIGIBILITY)
        self._numbers += 1
        self._send(
            self.agent,
            EligibilityRequest(self.source, request=self._numbers, overhead=message.overhead),
        )
        self.phase_at = now + self._options.answer_seconds

    def _on_pending(self, sender: str, message: EligibilityPending, now: float) -> None:
        """The agent is there: its answer is awaited from the end of the round on."""
        if self._is_asked(sender, message.request):
            seconds = min(message.seconds, AGENT_ROUND_SECONDS_MAX)
            self.phase_at = now + seconds + self._options.answer_seconds

    def _is_asked(self, agent: str, request: int) -> bool:
        return self.state is _S.ASKING and agent == self.agent and request == self._numbers

    def _on_eligibility(self, sender: str, message: EligibilityAnswer, now: float) -> None:
        if not self._is_asked(sender, message.request):
            return
        if message.is_granted:
            self._go(_I.GRANTED)
            self._begin_search(now)
        else:
            self._go(_I.DENIED)

    def _begin_search(self, now: float) -> None:
        self._numbers += 1
        bitmap = self.overlap.bitmap()
        length = 1 if bitmap is None else bitmap.last - bitmap.first + 1
        self._search = PlacementSearch(
            number=self._numbers,
            searcher=self.name,
            path=self.path if bitmap is not None else (),
            placement=self._options.placement,
            probes_max=self._options.limits.search_probes,
            gain_min=self._options.delta_threshold,
            scale=self._options.limits.window_documents / length,
            has_room=self._host.spare_capacity() > 0,
            children=self.overlap.child_bitmaps(),
        )
        self._probe(now)

    def _probe(self, now: float) -> None:
        search, bitmap = self._search, self.overlap.bitmap()
        assert search is not None
        if bitmap is not None:
            for peer in search.next_probes(self._options.parallel_probes):
                self._send(peer, OverheadRequest(self.source, search.number, bitmap, self.path))
        if bitmap is None or search.is_finished:
            self._finish_search(now)
        else:
            self.phase_at = now + self._options.answer_seconds

    def _on_overhead_request(self, sender: str, message: OverheadRequest, now: float) -> None:
        if not self.is_connected:
            return
        bitmap = message.bitmap
        is_root = self.state is _S.ROOT
        overhead = 0.0 if is_root else self.overlap.compute_overhead(bitmap)
        missing = 0.0 if is_root else self.overlap.missing(bitmap)
        is_comparable = overhead is not None and missing is not None
        children = []
        for child in self.children.values():
            lacking = self.overlap.missing_at(child, bitmap) if child.is_active else None
            added = self.overlap.added_by(child, bitmap) if child.is_active else None
            if lacking is not None and added is not None:
                children.append(ChildCost(child.name, lacking, added))
        branch = next((name for name in (sender, *message.path) if name in self.children), None)
        exclusive = None if branch is None or is_root else self.overlap.exclusive(branch, bitmap)
        self._send(
            sender,
            OverheadAnswer(
                self.source,
                search=message.search,
                accepts=(
                    is_comparable
                    and self.state in ACCEPTS_CHILDREN
                    and sender not in self.path
                    and self._host.spare_capacity() > 0
                ),
                overhead=overhead or 0.0,
                missing=missing or 0.0,
                exclusive=exclusive,
                children=tuple(children),
            ),
        )

    def _on_overhead_answer(self, sender: str, message: OverheadAnswer, now: float) -> None:
        search = self._search
        if self.state is not _S.SEARCHING or search is None or message.search != search.number:
            return
        search.take_answer(sender, message)
        self._probe(now)

    def _finish_search(self, now: float) -> None:
        found = self._search.improvements() if self._search is not None else []
        self._search = None
        self.move(found, now)

    def move(self, places: Iterable[Place], now: float) -> None:
        """The search is over: move to one of the places that were found, the first if possible."""
        candidates = []
        for parent, peer, passed_on in places:
            displaced = None if peer is None else Displacement(peer, passed_on)
            candidates.append(Candidate(0.0, 0, 0.0, parent, displaced))
        if not candidates or self.is_locked:
            self._go(_I.NO_PLACE)
            return
        self._go(_I.PLACE_FOUND)
        self.candidates = candidates
        self._try_next(now)
