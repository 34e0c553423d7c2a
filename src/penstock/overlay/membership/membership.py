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

from collections.abc import Callable, Iterable
from typing import Any, Final

from penstock.overlay.interest import Interest, OverlayDocument
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.attach_attempts import AttachAttempts
from penstock.overlay.membership.attach_path import AttachPath
from penstock.overlay.membership.children import Children
from penstock.overlay.membership.departure import Departure
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.heartbeats import Heartbeats
from penstock.overlay.membership.join_search import JoinSearch
from penstock.overlay.membership.place_answers import PlaceAnswers
from penstock.overlay.membership.position import Host, TreePosition
from penstock.overlay.membership.reorganisation import Reorganisation
from penstock.overlay.membership.transitions import (
    ATTEMPTS,
    HAS_PARENT,
    SEEKS_PLACE,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.ordered_stream import OrderedStream
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
    Edge,
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
from penstock.overlay.peer_outputs import ChildLost, Disconnected, Left
from penstock.overlay.tree_overlap import TreeOverlap

_S = MembershipState
_I = MembershipInput

_REJOIN_JITTER: Final = 0.25
"""Orphans wait up to this share of ``answer_seconds``, so that siblings do not join all at once."""


class Membership:
    """One peer in one tree: passes messages and time to those that it is composed of.

    What concerns several of them is here: that a child or the parent is gone, that an attempt is
    confirmed, and the end.

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

    __slots__ = (
        "attach_path",
        "attempts",
        "delivery",
        "departure",
        "filter",
        "heartbeats",
        "join_search",
        "place_answers",
        "position",
        "reorganisation",
    )

    def __init__(
        self,
        host: Host,
        source: str,
        own: Interest,
        *,
        seeds: Iterable[str] = (),
        agent: str | None = None,
    ) -> None:
        self.position = position = TreePosition(host, source, agent)
        self.filter = AggregateFilter(host.model, position.children, own)
        self.delivery = DocumentDelivery(position, self.filter)
        self.heartbeats = Heartbeats(position, self.filter, self.delivery)
        self.attempts = AttachAttempts(position, self.filter, self.delivery, self)
        self.attach_path = AttachPath(position, self.filter, self.delivery, self.children_changed)
        self.join_search = JoinSearch(position, self.filter, self.delivery, self.attempts, seeds)
        self.place_answers = PlaceAnswers(position, self.delivery, self.attempts)
        overlap = self.delivery.overlap
        self.departure = Departure(position, self.filter, overlap, self.attempts, self.join_search)
        self.reorganisation = Reorganisation(position, self.filter, overlap, self.attempts)

    # What others look at

    @property
    def state(self) -> MembershipState:
        """What the peer does in the tree."""
        return self.position.state

    @property
    def is_connected(self) -> bool:
        """Whether the peer has a parent or is the source."""
        return self.position.is_connected

    @property
    def name(self) -> str:
        """The peer."""
        return self.position.name

    @property
    def source(self) -> str:
        """Name of the tree."""
        return self.position.source

    @property
    def own(self) -> Interest:
        """The peer's own subscription."""
        return self.filter.own

    @property
    def edge(self) -> Edge | None:
        """The edge to the parent."""
        return None if self.position.parent is None else self.position.parent.edge

    @property
    def parent(self) -> str | None:
        """The parent."""
        return None if self.position.parent is None else self.position.parent.name

    @property
    def path(self) -> tuple[str, ...]:
        """Ancestors, the source first, the parent last."""
        return self.position.path

    @property
    def children(self) -> Children:
        """The children."""
        return self.position.children

    @property
    def stream(self) -> OrderedStream:
        """The documents of the source, in order."""
        return self.delivery.stream

    @property
    def overlap(self) -> TreeOverlap:
        """What the peer receives for whom."""
        return self.delivery.overlap

    @property
    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        given = (
            self.position.phase_at,
            self.heartbeats.heartbeat_at,
            self.heartbeats.statement_at,
            self.reorganisation.examine_at,
        )
        timers = [at for at in given if at is not None]
        return min(timers) if timers else None

    # Inputs

    def receive(self, sender: str, message: AnyPeerMessage, now: float) -> None:
        """Process a message."""
        handler = _HANDLERS.get(type(message))
        if handler is not None:  # A request to an agent is none of a peer's.
            handler(self, sender, message, now)

    def tick(self, now: float) -> None:
        """Process the timers that are due."""
        if self.heartbeats.is_due(now):
            self._beat(now)
        self.heartbeats.state_if_due(now)
        self.reorganisation.examine_if_due(now)
        if self.position.phase_at is not None and now >= self.position.phase_at:
            self.time_out(now)

    def time_out(self, now: float) -> None:
        """The time of the present phase is over."""
        self.position.phase_at = None
        match self.position.state:
            case _S.LOCATING:
                self.join_search.take_seeds((), now)
            case _S.JOINING | _S.RELOCATING:
                self.join_search.choose(now)
            case _S.ATTACHING | _S.MOVING:
                self.attempts.repeat(now)
            case _S.WAITING:
                self.join_search.start(now)
            case _S.ASKING:
                self.reorganisation.grant(now)
            case _S.SEARCHING:
                self.reorganisation.finish_search(now)
            case _S.LEAVING:
                self.position.go(_I.HANDED_OVER)
                self._end()
            case _:
                pass

    def serve(self, epoch: int, now: float) -> None:
        """Become the source of the tree."""
        self.position.go(_I.SERVE)
        self.delivery.serve(epoch)
        self.heartbeats.start(now)
        self.heartbeats.send()

    def publish(self, document: OverlayDocument) -> int:
        """Publish a document of this source. Returns its sequence number."""
        assert self.position.is_root
        return self.delivery.publish(document)

    def begin_at(self, seeds: Iterable[str], agent: str | None) -> None:
        """Look for a parent elsewhere than before the peer left."""
        self.position.agent = agent
        self.join_search.begin_at(seeds)

    def join(self, now: float) -> None:
        """Look for a parent."""
        self.join_search.start(now)

    def leave(self, now: float) -> None:
        """Leave the tree: at once, or when the children have found other parents."""
        position = self.position
        if position.state in {_S.OUTSIDE, _S.LEAVING, _S.ROOT}:
            return
        if position.state in ATTEMPTS:
            self.attempts.abandon()
        if position.state in HAS_PARENT and position.children.active():
            position.go(_I.LEAVE_INTERIOR)
            position.phase_at = now + position.host.options.leave_seconds
            self.departure.hand_over()
        else:
            position.go(_I.LEAVE_LEAF)
            self._end()

    def change_interest(self, own: Interest, now: float) -> None:
        """Change the peer's own subscription."""
        self.filter.own = own
        self.delivery.overlap.change_own(own)
        self.heartbeats.state_soon(now)
        self.attempts.subscription_changed(now)

    def awaited_answers(self) -> set[str]:
        """Peers whose answers are awaited: to an attach attempt, or to a request for a place."""
        position = self.position
        if position.state in SEEKS_PLACE:
            return set(self.join_search.unanswered)
        return set() if position.attempt is None else {position.attempt.target}

    def unreachable(self, peer: str, now: float) -> None:
        """A driver cannot connect to a peer: nothing that is awaited of it will come.

        Only saves time: without it, silence says the same. A peer that is alive after all is
        informed as one that was silent.
        """
        position = self.position
        if peer in position.children:
            self.lose_child(peer, now)
        if position.is_parent(peer):
            self.lose_parent(now)
        if position.attempt is not None and peer == position.attempt.target:
            self.attempts.abandon()
            self.attempts.failed(now)
        elif position.state in SEEKS_PLACE and peer in self.join_search.unanswered:
            self.join_search.unreachable(peer, now)
        elif position.state in {_S.LOCATING, _S.ASKING} and peer == position.agent:
            self.time_out(now)

    def _beat(self, now: float) -> None:
        """Send heartbeats, and remove who has been silent for too long."""
        if self.heartbeats.is_parent_silent(now):
            self.lose_parent(now)
        for name in self.heartbeats.silent_children(now):
            if name in self.position.children:
                self.lose_child(name, now)
        self.filter.unlock_expired(now)
        self.delivery.give_up_if_stalled(now)
        self.heartbeats.send()
        if self.delivery.stream.gap is not None:
            self.delivery.repeat_replay_request(now)
        if self.position.state is _S.LEAVING:
            self.departure.hand_over()
        if self.position.is_connected:
            self.attempts.widen_if_needed(now)
            self.attempts.announce()

    # What concerns several

    def lose_child(self, name: str, now: float) -> None:
        """A child is silent for too long."""
        self.position.children.remove(name)
        self.position.emit(ChildLost(self.position.source, name))
        self.children_changed(now)

    def children_changed(self, now: float) -> None:
        """A child is gone."""
        self.heartbeats.state_soon(now)
        position = self.position
        if position.state is _S.LEAVING:
            self.departure.hand_over()
            if not position.children.active():
                position.go(_I.HANDED_OVER)
                self._end()

    def lose_parent(self, now: float) -> None:
        """The parent is silent for too long, or denies to be the parent."""
        position = self.position
        assert position.parent is not None
        lost = position.parent
        self.join_search.forget(lost.path)
        position.parent = None
        self.filter.relayed.clear()
        position.emit(Disconnected(position.source, lost.name))
        if position.state is _S.LEAVING:
            position.go(_I.PARENT_LOST)
            self._end()
            return
        if position.attempt is not None and position.attempt.target != lost.name:
            phase_at = position.phase_at
            position.go(_I.PARENT_LOST)
            position.phase_at = phase_at
            return
        position.go(_I.PARENT_LOST if position.attempt is None else _I.TARGET_LOST)
        position.attempt = None
        host = position.host
        jitter = host.random.uniform(0.0, _REJOIN_JITTER)
        position.phase_at = now + jitter * host.options.answer_seconds

    def connected(self, now: float) -> None:
        """An attempt is confirmed."""
        self.join_search.forget_ancestors()
        self.heartbeats.send()
        self.heartbeats.start(now)
        self.reorganisation.start(now)
        self.departure.reinsert_children()

    def attempt_failed(self) -> None:
        """An attempt is refused or given up, and there is no other candidate."""
        self.departure.replaced_below = None

    def _end(self) -> None:
        """The peer is in the tree no longer."""
        position = self.position
        if position.parent is not None:
            position.send(position.parent.name, Detach(position.source, position.parent.attempt))
        for child in position.children.values():
            position.send(child.name, NotChild(position.source, child.edge))
        position.children.clear()
        self.filter.relayed.clear()
        position.parent = position.phase_at = None
        self.departure.replacement = None
        self.filter.update()
        self.heartbeats.stop()
        self.reorganisation.stop()
        self.delivery.give_up()
        position.emit(Left(position.source))

    def _on_confirmation(self, sender: str, message: AttachConfirmation, now: float) -> None:
        path = message.path
        if path and path[-1] == self.position.name:
            if len(path) == 1:
                self.attempts.on_confirmation(sender, message, now)
            else:
                self.attach_path.on_confirmation(sender, message, now)
                self.attempts.announce()

    def _on_refusal(self, sender: str, message: AttachRefusal, now: float) -> None:
        path = message.path
        if path and path[-1] == self.position.name:
            if len(path) == 1:
                self.attempts.on_refusal(sender, message, now)
            else:
                self.attach_path.on_refusal(message, now)

    def _on_parent_heartbeat(self, sender: str, message: ParentHeartbeat, now: float) -> None:
        if self.heartbeats.on_parent_heartbeat(sender, message, now):
            self.lose_parent(now)

    def _on_filter_request(self, sender: str, message: FilterRequest, now: float) -> None:
        if self.position.is_parent(sender):
            self.heartbeats.state_filter()
            self.attempts.restart_if_restated(now)

    def _on_not_child(self, sender: str, message: NotChild, now: float) -> None:
        if self.position.parent_by(sender, message.edge) is not None:
            self.lose_parent(now)


_HANDLERS: dict[type[PeerMessage], Callable[[Membership, str, Any, float], None]] = {
    Forward: lambda it, sender, message, now: it.delivery.on_forward(sender, message, now),
    Lost: lambda it, *given: it.delivery.on_lost(*given),
    ReplayRequest: lambda it, *given: it.delivery.on_replay_request(*given),
    Replay: lambda it, *given: it.delivery.on_replay(*given),
    ChildHeartbeat: lambda it, *given: it.heartbeats.on_child_heartbeat(*given),
    ParentHeartbeat: Membership._on_parent_heartbeat,
    FilterRequest: Membership._on_filter_request,
    FilterStatement: lambda it, *given: it.heartbeats.on_filter_statement(*given),
    NotChild: Membership._on_not_child,
    Seeds: lambda it, *given: it.join_search.on_seeds(*given),
    AddResult: lambda it, *given: it.join_search.on_add_result(*given),
    AddRefused: lambda it, *given: it.join_search.on_add_refused(*given),
    Add: lambda it, *given: it.place_answers.on_add(*given),
    OverheadRequest: lambda it, *given: it.place_answers.on_overhead_request(*given),
    AttachRequest: lambda it, *given: it.attach_path.on_request(*given),
    AttachConfirmation: Membership._on_confirmation,
    AttachRefusal: Membership._on_refusal,
    Detach: lambda it, *given: it.attach_path.on_detach(*given),
    Leaving: lambda it, *given: it.departure.on_leaving(*given),
    NewParent: lambda it, *given: it.departure.on_new_parent(*given),
    MoveRequest: lambda it, *given: it.reorganisation.on_move_request(*given),
    EligibilityAnswer: lambda it, *given: it.reorganisation.on_eligibility(*given),
    EligibilityPending: lambda it, *given: it.reorganisation.on_pending(*given),
    OverheadAnswer: lambda it, *given: it.reorganisation.on_overhead_answer(*given),
}
