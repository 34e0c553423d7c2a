"""A peer's membership in one tree: the protocol core.

The core does no I/O. Messages and time come in, outputs are collected by the peer. Every change of
state is in the table of :mod:`~penstock.overlay.membership.transitions`.

Three invariants hold whatever is lost, delayed, duplicated or reordered:

- *No cycle.* A parent is only adopted when an attach request has travelled from it to the source. A
  peer that is attaching or moving refuses all requests, and so does the moving peer itself. In a
  cycle, consider the attempt that started last: its request would have followed the cycle back to
  the moving peer, or met one of the other attempts under way.
- *No lost filter.* A parent's filter for a child is the child's own statement of its whole filter,
  by version. It is never narrowed by a time-out. A child that is removed because it is silent is
  informed when it speaks again, and joins anew.
- *No silent loss.* A peer knows up to which sequence number it has everything; what it has missed
  is replayed by an ancestor that received all of it, or reported as lost.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.overlay.interest import Interest, OverlayDocument
from penstock.overlay.membership.reorganisation import ReorganisationPart
from penstock.overlay.membership.transitions import (
    ATTEMPTS,
    SEEKS_PLACE,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AddResult,
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    ChildHeartbeat,
    Detach,
    EligibilityAnswer,
    EligibilityPending,
    FilterRequest,
    FilterStatement,
    Forward,
    Leaving,
    Lost,
    MoveRequest,
    NewParent,
    NotChild,
    OverheadAnswer,
    OverheadRequest,
    ParentHeartbeat,
    PeerMessage,
    Replay,
    ReplayRequest,
    Seeds,
)

_S = MembershipState
_I = MembershipInput


class Membership(ReorganisationPart):
    """One peer in one tree.

    Parameters
    ----------
    host
        The peer.
    source
        Name of the tree, and of the peer at its root.
    own
        The peer's own subscription.
    seeds
        Peers to join at; the source if there are none.
    agent
        The system agent, if there is one.
    """

    @property
    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        given = (self.phase_at, self.heartbeat_at, self.statement_at, self.reorganise_at)
        timers = [at for at in given if at is not None]
        return min(timers) if timers else None

    def tick(self, now: float) -> None:
        """Process the timers that are due."""
        if self.heartbeat_at is not None and now >= self.heartbeat_at:
            self.heartbeat_at = now + self._options.heartbeat_seconds
            self.beat(now)
        if self.statement_at is not None and now >= self.statement_at:
            self.statement_at = None
            if self.parent is not None:
                self._send_child_heartbeat()
        if self.reorganise_at is not None and now >= self.reorganise_at:
            self.reorganise_at = max(now, self.reorganise_at + self._options.examine_seconds)
            self.examine_overhead(now)
        if self.phase_at is not None and now >= self.phase_at:
            self.time_out(now)

    def receive(self, sender: str, message: AnyPeerMessage, now: float) -> None:
        """Process a message."""
        handler = _HANDLERS.get(type(message))
        if handler is not None:  # A request to an agent is none of a peer's.
            handler(self, sender, message, now)

    def serve(self, epoch: int, now: float) -> None:
        """Become the source of the tree."""
        self._go(_I.SERVE)
        self.stream.start(epoch, 0)
        self.overlap.statistics.start(epoch, 0)
        self.buffer.start(0)
        self._start_heartbeat(now)
        self.send_heartbeats()

    def publish(self, document: OverlayDocument, now: float) -> int:
        """Publish a document of this source. Returns its sequence number."""
        assert self.state is _S.ROOT
        sequence = self.stream.cursor + 1
        self.stream.cursor = sequence
        self._accept(sequence, document)
        return sequence

    def change_interest(self, own: Interest, now: float) -> None:
        """Change the peer's own subscription."""
        self.own = own
        self.overlap.change_own(own)
        self._state_soon(now)
        self._widen_if_needed(now)

    def time_out(self, now: float) -> None:
        """The time of the present phase is over."""
        self.phase_at = None
        match self.state:
            case _S.LOCATING:
                self._take_seeds((), now)
            case _S.JOINING | _S.RELOCATING:
                self._choose_candidate(now)
            case _S.ATTACHING | _S.MOVING:
                self._repeat_attempt(now)
            case _S.WAITING:
                self.join(now)
            case _S.ASKING:
                # Without an answer of the agent, the peer's own time-outs decide.
                self._go(_I.GRANTED)
                self._begin_search(now)
            case _S.SEARCHING:
                self._finish_search(now)
            case _S.LEAVING:
                self._go(_I.HANDED_OVER)
                self._end_membership()
            case _:
                pass

    def awaited_answers(self) -> set[str]:
        """Peers whose answers are awaited: to an attach attempt, or to a request for a place."""
        if self.state in SEEKS_PLACE:
            return set(self._unanswered)
        return {self.target} if self.state in ATTEMPTS and self.target is not None else set()

    def unreachable(self, peer: str, now: float) -> None:
        """A driver cannot connect to a peer: nothing that is awaited of it will come.

        Only saves time: without it, silence says the same. A peer that is alive after all is
        informed as one that was silent.
        """
        if peer in self.children:
            self.lose_child(peer, now)
        if peer == self.parent:
            self.lose_parent(now)
        if self.state in ATTEMPTS and peer == self.target:
            self._abandon_attempt()
            self._attempt_failed(now)
        elif self.state in SEEKS_PLACE and peer in self._unanswered:
            self._answered(peer, now)
        elif self.state in {_S.LOCATING, _S.ASKING} and peer == self.agent:
            self.time_out(now)


_HANDLERS: dict[type[PeerMessage], Callable[[Membership, str, Any, float], None]] = {
    Seeds: Membership._on_seeds,
    Add: Membership._on_add,
    AddResult: Membership._on_add_result,
    AddRefused: Membership._on_add_refused,
    AttachRequest: Membership._on_attach_request,
    AttachConfirmation: Membership._on_confirmation,
    AttachRefusal: Membership._on_refusal,
    Detach: Membership._on_detach,
    NotChild: Membership._on_not_child,
    ChildHeartbeat: Membership._on_child_heartbeat,
    ParentHeartbeat: Membership._on_parent_heartbeat,
    FilterRequest: Membership._on_filter_request,
    FilterStatement: Membership._on_filter_statement,
    Leaving: Membership._on_leaving,
    NewParent: Membership._on_new_parent,
    MoveRequest: Membership._on_move_request,
    EligibilityAnswer: Membership._on_eligibility,
    EligibilityPending: Membership._on_pending,
    OverheadRequest: Membership._on_overhead_request,
    OverheadAnswer: Membership._on_overhead_answer,
    Forward: Membership._on_forward,
    Lost: Membership._on_lost,
    ReplayRequest: Membership._on_replay_request,
    Replay: Membership._on_replay,
}
