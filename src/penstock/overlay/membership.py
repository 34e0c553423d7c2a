"""A peer's membership in one tree: the protocol core.

The core does no I/O. Messages and time come in, outputs are collected by the peer. Every change of
state is in the table of :mod:`~penstock.overlay.membership_transitions`.

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

import random
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol

from penstock.links.back_off import BackOff
from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import Interest, InterestModel, OverlayDocument
from penstock.overlay.limits import (
    ADD_HOPS_MAX,
    DEPTH_MAX,
    EXCLUDED_PEERS_MAX,
    REJOIN_ANCESTORS_MAX,
    REPLAY_BYTES_MAX,
    REPLAY_DOCUMENTS_MAX,
    SEEDS_MAX,
)
from penstock.overlay.membership_transitions import (
    ACCEPTS_CHILDREN,
    ATTEMPTS,
    HAS_PARENT,
    MEMBERSHIP_TRANSITIONS,
    RELAYS,
    SEEKS_PLACE,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.options import PeerOptions
from penstock.overlay.ordered_stream import OrderedStream, StreamItem
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AddResult,
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    ChildCost,
    ChildHeartbeat,
    Detach,
    EligibilityAnswer,
    EligibilityRequest,
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
    RefusalReason,
    Replay,
    Replayed,
    ReplayRequest,
    Seeds,
    SeedsRequest,
)
from penstock.overlay.peer_outputs import (
    ChildLost,
    Connected,
    Deliver,
    Disconnected,
    EpochChanged,
    GapReported,
    Left,
    PeerOutput,
    Send,
)
from penstock.overlay.placement_search import Place, PlacementSearch
from penstock.overlay.replay_buffer import Coverage, ReplayBuffer
from penstock.overlay.tree_overlap import TreeOverlap

_S = MembershipState
_I = MembershipInput

_REJOIN_JITTER: Final = 0.25
"""Orphans wait up to this share of ``answer_seconds``, so that siblings do not join all at once."""

_PATIENCE_MAX: Final = 4
"""Times ``answer_seconds`` that an answer is awaited after several failures."""


class Host(Protocol):
    """What a membership needs of its peer."""

    name: str
    incarnation: int
    model: InterestModel
    options: PeerOptions
    random: random.Random
    outputs: list[PeerOutput]

    def spare_capacity(self) -> int:
        """Children that the peer can still take, over all its trees."""


class Displacement(NamedTuple):
    """A peer whose place this one takes, and which is to attach here."""

    peer: str
    passed_on: str | None = None
    """The child whose place it takes in turn, if there is no other."""


class Candidate(NamedTuple):
    """A peer that has spare capacity."""

    cost: float
    depth: int
    tie: float
    """Random: decides between equal candidates."""

    peer: str
    displaced: Displacement | None = None
    """The child of that peer whose place is taken."""


class _Relay(NamedTuple):
    """An attach attempt of another peer that passed here."""

    parent: str
    interest: Interest
    """The aggregate filter that was stated to the parent."""

    expires_at: float


class Membership:
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

    def __init__(
        self,
        host: Host,
        source: str,
        own: Interest,
        *,
        seeds: Iterable[str] = (),
        agent: str | None = None,
    ) -> None:
        limits = host.options.limits
        self._host = host
        self._model = host.model
        self._options = host.options
        self.name = host.name
        self.source = source
        self.agent = agent
        self.seeds = tuple(dict.fromkeys(seeds)) or (source,)
        self.state = MembershipState.OUTSIDE

        self.own = own
        self.aggregate = own
        """What the peer and all below it want: stated to the parent."""
        self.version = 0
        self.confirmed: Interest = host.model.nothing
        """What the parent and its ancestors are known to forward."""

        self.parent: str | None = None
        self.edge: Attempt | None = None
        self.path: tuple[str, ...] = ()
        """Ancestors, the source first, the parent last."""
        self.parent_heard_at = 0.0
        self.children: dict[str, ChildLink] = {}

        self.stream = OrderedStream(limits.held_documents)
        self.buffer = ReplayBuffer(host.model, limits.buffer_documents, limits.buffer_bytes)
        self.coverage = Coverage(host.model)
        self.overlap = TreeOverlap(host.model, self.children, limits.window_documents, host.random)
        self.replay_asked_at = float("-inf")

        self.phase_at: float | None = None
        self.heartbeat_at: float | None = None
        self.statement_at: float | None = None
        """When a filter that has become narrower is stated, before the next heartbeat."""
        self.reorganise_at: float | None = None

        self.attempt: Attempt | None = None
        self.attempt_edge: Attempt | None = None
        self.target: str | None = None
        self.displaced: Displacement | None = None
        """The child of the target whose place the attempt takes."""
        self.awaited: Displacement | None = None
        self.tries = 0
        self.candidates: list[Candidate] = []
        self.attempt_interest: Interest = own
        self.relays: dict[Attempt, _Relay] = {}

        self._numbers = self._join_number = self._failures = 0
        self._unanswered: set[str] = set()
        self._asked_peer: str | None = None
        self._rejoin_seeds: tuple[str, ...] = ()
        self._search: PlacementSearch | None = None
        self._move_allowed_at = float("-inf")
        self._widen_at = float("-inf")
        self.replacement: str | None = None
        self._back_off = BackOff(
            host.random,
            first_seconds=host.options.back_off_first_seconds,
            seconds_max=host.options.back_off_seconds_max,
        )

    # Driving

    @property
    def next_timer(self) -> float | None:
        """When :meth:`tick` is due."""
        given = (self.phase_at, self.heartbeat_at, self.statement_at, self.reorganise_at)
        timers = [at for at in given if at is not None]
        return min(timers) if timers else None

    @property
    def is_connected(self) -> bool:
        """Whether the peer has a parent or is the source."""
        return self.state in HAS_PARENT or self.state is _S.ROOT

    @property
    def is_locked(self) -> bool:
        """Whether an attach attempt of another peer passed here and has not returned."""
        return bool(self.relays)

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

    def _send(self, peer: str, message: AnyPeerMessage) -> None:
        self._host.outputs.append(Send(peer, message))

    def _emit(self, output: PeerOutput) -> None:
        self._host.outputs.append(output)

    def _go(self, given: MembershipInput) -> None:
        self.state = MEMBERSHIP_TRANSITIONS[self.state][given]
        self.phase_at = None

    def allows(self, given: MembershipInput) -> bool:
        """Whether an input is possible in the present state."""
        return given in MEMBERSHIP_TRANSITIONS[self.state]

    def protocol_counters(self) -> tuple[object, ...]:
        """Numbers and sets of requests under way, for those who compare states."""
        return (
            self._numbers,
            self._join_number,
            tuple(sorted(self._unanswered)),
            self._rejoin_seeds,
            self._asked_peer,
            self._failures,
        )

    # Commands

    def serve(self, epoch: int, now: float) -> None:
        """Become the source of the tree."""
        self._go(_I.SERVE)
        self.stream.start(epoch, 0)
        self.overlap.statistics.start(epoch, 0)
        self.buffer.start(0)
        self._start_heartbeat(now)

    def publish(self, document: OverlayDocument, now: float) -> int:
        """Publish a document of this source. Returns its sequence number."""
        assert self.state is _S.ROOT
        sequence = self.stream.cursor + 1
        self.stream.cursor = sequence
        self._accept(sequence, document)
        return sequence

    def join(self, now: float) -> None:
        """Look for a parent."""
        if self.agent is not None:
            self._go(_I.ASK_AGENT)
            self._send(self.agent, SeedsRequest(self.source))
            self.phase_at = now + self._options.answer_seconds
        else:
            self._go(_I.ASK_SEEDS)
            self._ask_places(self._join_seeds(()), now)

    def change_interest(self, own: Interest, now: float) -> None:
        """Change the peer's own subscription."""
        self.own = own
        self.overlap.change_own(own)
        self._state_soon(now)
        self._widen_if_needed(now)

    def leave(self, now: float) -> None:
        """Leave the tree: at once, or when the children have found other parents."""
        if self.state in {_S.OUTSIDE, _S.LEAVING, _S.ROOT}:
            return
        if self.state in ATTEMPTS:
            self._abandon_attempt()
        if self.state in HAS_PARENT and any(child.is_active for child in self.children.values()):
            self._go(_I.LEAVE_INTERIOR)
            self.phase_at = now + self._options.leave_seconds
            self._hand_over()
        else:
            self._go(_I.LEAVE_LEAF)
            self._end_membership()

    # Time

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

    def beat(self, now: float) -> None:
        """Send heartbeats, and remove who has been silent for too long."""
        silent_since = now - self._options.silence_seconds
        if self.parent is not None and self.parent_heard_at < silent_since:
            self.lose_parent(now)
        for child in list(self.children.values()):
            patience = 0.0 if child.is_active else self._options.attempt_seconds
            if child.heard_at < silent_since - patience:
                self.lose_child(child.name, now)
        for attempt, relay in list(self.relays.items()):
            if relay.expires_at <= now:
                self.unlock(attempt)
        self.send_heartbeats()
        if (
            self.stream.gap is not None
            and now - self.replay_asked_at >= self._options.answer_seconds
        ):
            self._request_replay(now)
        if self.state is _S.LEAVING:
            self._hand_over()
        if self.is_connected:
            self._widen_if_needed(now)

    def send_heartbeats(self) -> None:
        """Send heartbeats to the parent and to all children."""
        if self.parent is not None:
            self._send_child_heartbeat()
        for child in self.children.values():
            if child.is_active:
                self._send_parent_heartbeat(child)

    def unlock(self, attempt: Attempt) -> None:
        """An attach attempt that passed here has not returned in time."""
        self.relays.pop(attempt, None)

    def lose_child(self, name: str, now: float) -> None:
        """A child is silent for too long."""
        del self.children[name]
        self._emit(ChildLost(self.source, name))
        self._children_changed(now)

    def lose_parent(self, now: float) -> None:
        """The parent is silent for too long, or denies to be the parent."""
        assert self.parent is not None
        lost = self.parent
        self._rejoin_seeds = self.path[-2::-1][:REJOIN_ANCESTORS_MAX]
        self.parent = self.edge = None
        self.path = ()
        self.relays.clear()
        self._search = None
        self._join_number += 1
        self._emit(Disconnected(self.source, lost))
        if self.state is _S.LEAVING:
            self._go(_I.PARENT_LOST)
            self._end_membership()
            return
        if self.state is _S.MOVING and self.target != lost:
            phase_at = self.phase_at
            self._go(_I.PARENT_LOST)
            self.phase_at = phase_at
            return
        if self.state is _S.MOVING:
            self._forget_attempt()
            self._go(_I.TARGET_LOST)
        else:
            self._go(_I.PARENT_LOST)
        jitter = self._host.random.uniform(0.0, _REJOIN_JITTER)
        self.phase_at = now + jitter * self._options.answer_seconds

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

    # Filters

    def _update_aggregate(self) -> bool:
        """Recompute the aggregate filter. Returns whether it changed."""
        if self.children:
            filters = (child.filter for child in self.children.values())
            aggregate = self._model.union((self.own, *filters))
        else:
            aggregate = self.own
        if aggregate.digest == self.aggregate.digest:
            return False
        self.aggregate = aggregate
        self.version += 1
        return True

    def _state_soon(self, now: float) -> None:
        """The aggregate filter may be narrower: do not wait for a heartbeat on every level.

        Other changes follow soon in most cases, so they are waited for.
        """
        if self._update_aggregate() and self.statement_at is None and self.parent is not None:
            self.statement_at = now + self._options.answer_seconds

    def _children_changed(self, now: float) -> None:
        self._state_soon(now)
        if self.state is _S.LEAVING:
            self._hand_over()
            if not any(child.is_active for child in self.children.values()):
                self._go(_I.HANDED_OVER)
                self._end_membership()

    def _widen_if_needed(self, now: float) -> None:
        """State a filter to the ancestors that they do not cover yet."""
        if (
            self.state is not _S.CONNECTED
            or self.is_locked
            or now < self._widen_at
            or self._is_confirmed()
        ):
            return
        self._go(_I.WIDEN)
        assert self.parent is not None
        self.candidates = []
        self._note_statement()
        self._start_attempt(self.parent, now, edge=self.edge)

    def _note_statement(self) -> None:
        """The aggregate filter is stated to the parent, which forwards nothing else from now on."""
        self.coverage.narrowed(self.stream.cursor, self.aggregate)
        if self._model.covers(self.confirmed, self.aggregate):
            self.confirmed = self.aggregate
        elif not self._model.covers(self.aggregate, self.confirmed):
            self.confirmed = self._model.nothing

    def _is_confirmed(self) -> bool:
        """Whether the ancestors forward what this peer and its children want.

        Children whose attempts are under way do not count: their requests state the filter.
        """
        covers = self._model.covers
        return covers(self.confirmed, self.own) and all(
            covers(self.confirmed, child.filter)
            for child in self.children.values()
            if child.is_active
        )

    # Join

    def _join_seeds(self, given: Iterable[str]) -> tuple[str, ...]:
        wanted = (*self._rejoin_seeds, *given, *self.seeds, self.source)
        known = dict.fromkeys(peer for peer in wanted if peer != self.name)
        return tuple(known)[:SEEDS_MAX]

    def _take_seeds(self, peers: tuple[str, ...], now: float) -> None:
        self._go(_I.SEEDS)
        self._ask_places(self._join_seeds(peers), now)

    def _ask_places(self, seeds: tuple[str, ...], now: float) -> None:
        self._join_number += 1
        self.candidates = []
        self._unanswered = set(seeds)
        self._rejoin_seeds = ()
        bitmap = self.overlap.bitmap()
        for seed in seeds:
            self._send(
                seed,
                Add(
                    self.source,
                    joiner=self.name,
                    join=self._join_number,
                    seed=seed,
                    interest=self.aggregate,
                    bitmap=bitmap,
                    cost=0.0,
                    excluded=(),
                    hops=0,
                ),
            )
        self.phase_at = now + self._patience()

    def _on_seeds(self, sender: str, message: Seeds, now: float) -> None:
        if self.state is _S.LOCATING and sender == self.agent:
            self._take_seeds(message.peers, now)

    def _on_add(self, sender: str, message: Add, now: float) -> None:
        joiner = message.joiner
        is_useless = (
            not self.is_connected
            or joiner == self.name
            or joiner in self.path
            or message.hops >= ADD_HOPS_MAX
            or len(message.excluded) >= EXCLUDED_PEERS_MAX
        )
        if is_useless:
            self._send(joiner, AddRefused(self.source, message.join, message.seed))
            return
        bitmap = message.bitmap
        if bitmap is None and self.overlap.statistics.is_primed():
            bitmap = self.overlap.estimate(message.interest)
        cost = message.cost
        if bitmap is not None and self.state is not _S.ROOT:
            cost += self.overlap.missing(bitmap) or 0.0
        if (
            self.state in ACCEPTS_CHILDREN
            and self.name not in message.excluded
            and (self._has_place_for(joiner) or self._passed_on_for(joiner) is not None)
        ):
            self._send(
                joiner,
                AddResult(
                    self.source,
                    join=message.join,
                    seed=message.seed,
                    cost=cost,
                    depth=len(self.path),
                    bitmap=bitmap,
                    displaced=self._passed_on_for(joiner),
                ),
            )
            return
        child = self.overlap.max_overlap_child(
            message.interest, bitmap, without={joiner, *message.excluded}
        )
        excluded = message.excluded
        if child is None and self.parent is not None:
            # A dead end: the peer is full, and so is everything below it.
            child = self.parent
            excluded = (*excluded, self.name)
        if child is None:
            self._send(joiner, AddRefused(self.source, message.join, message.seed))
            return
        self._send(
            child,
            Add(
                self.source,
                joiner=joiner,
                join=message.join,
                seed=message.seed,
                interest=message.interest,
                bitmap=bitmap,
                cost=cost,
                excluded=excluded,
                hops=message.hops + 1,
            ),
        )

    def _on_add_result(self, sender: str, message: AddResult, now: float) -> None:
        if message.join != self._join_number:
            return
        if self.state not in SEEKS_PLACE and self.state is not _S.WAITING:
            return
        tie = self._host.random.random()
        displaced = None if message.displaced is None else Displacement(message.displaced)
        self.candidates.append(Candidate(message.cost, message.depth, tie, sender, displaced))
        if message.bitmap is not None and not self.stream.is_started:
            self.overlap.statistics.start(message.bitmap.epoch, message.bitmap.last)
            self.overlap.extend_back(message.bitmap)
        if self.state is _S.WAITING:
            # A late answer, better than asking again.
            self._choose_candidate(now)
        else:
            self._answered(message.seed, now)

    def _on_add_refused(self, sender: str, message: AddRefused, now: float) -> None:
        if self.state in SEEKS_PLACE and message.join == self._join_number:
            self._answered(message.seed, now)

    def _answered(self, seed: str, now: float) -> None:
        self._unanswered.discard(seed)
        if not self._unanswered:
            self._choose_candidate(now)

    def _choose_candidate(self, now: float) -> None:
        """All seeds have answered, or their time is over."""
        is_relocating = self.state is _S.RELOCATING
        best: dict[str, Candidate] = {}
        for candidate in sorted(self.candidates, key=lambda each: each[:4]):
            best.setdefault(candidate.peer, candidate)
        self.candidates = list(best.values())
        if is_relocating:
            stays = not self.candidates or self.candidates[0].peer == self.parent
            if stays or self.is_locked:
                self.candidates = []
        if self.candidates:
            self._go(_I.CANDIDATES)
            self._try_next(now)
            return
        self._go(_I.NO_CANDIDATE)
        if not is_relocating:
            self._failures += 1
            self.phase_at = now + self._back_off.next_seconds()

    def _passed_on_for(self, joiner: str) -> str | None:
        """The child whose place a peer takes that this one has displaced."""
        awaited = self.awaited
        if awaited is None or awaited.peer != joiner or self._has_place_for(joiner):
            return None
        return awaited.passed_on if self._can_displace(awaited.passed_on, joiner) else None

    def _has_place_for(self, joiner: str) -> bool:
        if joiner in self.children or self._host.spare_capacity() > 0:
            return True
        return any(child.replacement == joiner for child in self.children.values())

    # Attach attempts

    def _start_attempt(
        self,
        target: str,
        now: float,
        *,
        edge: Attempt | None = None,
        displaced: Displacement | None = None,
    ) -> None:
        self._numbers += 1
        self.attempt = Attempt(self.name, self._host.incarnation, self._numbers)
        self.attempt_edge = edge or self.attempt
        self.target = target
        self.displaced = displaced
        self.awaited = None
        self.tries = 0
        self.attempt_interest = self.aggregate
        self._send_request(now)

    def _patience(self) -> float:
        """How long an answer is awaited: longer after each failure, because trees may be deep and
        links slow."""
        return self._options.answer_seconds * min(1 << self._failures, _PATIENCE_MAX)

    def _try_next(self, now: float) -> None:
        candidate = self.candidates.pop(0)
        self._start_attempt(candidate.peer, now, displaced=candidate.displaced)

    def _send_request(self, now: float) -> None:
        assert self.attempt is not None
        assert self.attempt_edge is not None
        assert self.target is not None
        self.tries += 1
        self._send(
            self.target,
            AttachRequest(
                self.source,
                attempt=self.attempt,
                edge=self.attempt_edge,
                interest=self.attempt_interest,
                version=self.version,
                bitmap=self.overlap.bitmap(),
                path=(self.name,),
                displaced=None if self.displaced is None else self.displaced.peer,
            ),
        )
        self.phase_at = now + self._patience()

    def _repeat_attempt(self, now: float) -> None:
        if self.tries < self._options.attempt_tries:
            self._send_request(now)
            return
        self._abandon_attempt()
        self._attempt_failed(now)

    def _abandon_attempt(self) -> None:
        """Withdraw the statement that this peer is a child of the target."""
        if self.target is not None and self.attempt_edge == self.attempt:
            assert self.attempt is not None
            self._send(self.target, Detach(self.source, self.attempt))
        self._forget_attempt()

    def _forget_attempt(self) -> None:
        self.attempt = self.attempt_edge = self.target = self.displaced = None

    def _attempt_failed(self, now: float) -> None:
        self._forget_attempt()
        if self.candidates:
            self._go(_I.REFUSED_NEXT)
            self._try_next(now)
            return
        self._asked_peer = None
        self._failures += 1
        self._go(_I.REFUSED_LAST)
        delay = self._back_off.next_seconds()
        if self.state is _S.WAITING:
            self.phase_at = now + delay
        else:
            self._widen_at = now + delay

    def _on_attach_request(self, sender: str, message: AttachRequest, now: float) -> None:
        path = message.path
        if not path or path[-1] != sender or path[0] != message.attempt.peer:
            return
        refusal = self._refusal_of(sender, message)
        if refusal is not None:
            self._send(
                sender,
                AttachRefusal(self.source, message.attempt, message.edge, refusal, message.path),
            )
            if refusal is RefusalReason.NOT_CHILD:
                self._send(sender, NotChild(self.source, message.edge))
            return
        child = self.children.get(sender)
        if sender == message.attempt.peer and (child is None or child.edge != message.edge):
            if child is not None and message.edge < child.edge:
                return  # A late request of an attempt that the child has given up since.
            child = ChildLink(sender, message.edge, message.interest, now)
            child.displaced = message.displaced
            self.children[sender] = child
        assert child is not None
        if not child.is_active:
            child.heard_at = now
        if message.version >= child.version:
            child.version = message.version
            child.filter = message.interest
        self.overlap.note_child(child, message.bitmap)
        self._update_aggregate()
        if self.state is _S.ROOT:
            self._confirm(message, now)
            return
        assert self.parent is not None
        self._note_statement()
        self.relays[message.attempt] = _Relay(
            self.parent, self.aggregate, now + self._options.attempt_seconds
        )
        self._send(
            self.parent,
            AttachRequest(
                self.source,
                attempt=message.attempt,
                edge=message.edge,
                interest=self.aggregate,
                version=self.version,
                bitmap=message.bitmap,
                path=(*message.path, self.name),
            ),
        )

    def _refusal_of(self, sender: str, message: AttachRequest) -> RefusalReason | None:
        mover = message.attempt.peer
        if self.name in message.path:
            return RefusalReason.CYCLE
        if self.state not in RELAYS:
            return RefusalReason.BUSY
        if len(message.path) >= DEPTH_MAX:
            return RefusalReason.TOO_DEEP
        if (
            len(self.relays) >= self._options.limits.path_attempts
            and message.attempt not in self.relays
        ):
            return RefusalReason.BUSY
        if sender != mover:
            return None if sender in self.children else RefusalReason.NOT_CHILD
        known = self.children.get(mover)
        if known is not None and known.edge == message.edge:
            return None
        if message.edge != message.attempt:
            return RefusalReason.NOT_CHILD
        if self.state not in ACCEPTS_CHILDREN:
            return RefusalReason.BUSY
        has_place = self._has_place_for(mover) or self._can_displace(message.displaced, mover)
        return None if has_place else RefusalReason.FULL

    def _can_displace(self, displaced: str | None, mover: str) -> bool:
        """Whether a child can be displaced: nobody else takes its place already."""
        child = self.children.get(displaced) if displaced is not None else None
        return (
            child is not None
            and child.name != mover
            and child.is_active
            and child.replacement is None
            and all(each.displaced != displaced for each in self.children.values())
        )

    def _confirm(self, message: AttachRequest, now: float) -> None:
        confirmation = AttachConfirmation(
            self.source,
            attempt=message.attempt,
            edge=message.edge,
            epoch=self.stream.epoch,
            sequence=self.stream.cursor,
            path=message.path,
            ancestors=(self.name,),
        )
        if len(message.path) == 1:
            self._activate(self.children[message.path[0]], self.stream.cursor, now)
        self._send(message.path[-1], confirmation)

    def _on_confirmation(self, sender: str, message: AttachConfirmation, now: float) -> None:
        path = message.path
        if not path or path[-1] != self.name:
            return
        if len(path) == 1:
            if (
                self.state in ATTEMPTS
                and message.attempt == self.attempt
                and sender == self.target
                and message.epoch >= self.stream.epoch
            ):
                self._commit(message, now)
            return
        relay = self.relays.pop(message.attempt, None)
        if relay is None or sender != self.parent or relay.parent != self.parent:
            return
        if message.epoch < self.stream.epoch:
            return
        self._enter_epoch(message.epoch)
        self.coverage.confirmed(message.sequence, relay.interest)
        self.confirmed = relay.interest
        child = self.children.get(path[-2])
        if child is None:
            return
        if len(path) == 2:
            if child.edge != message.edge:
                return
            self._activate(child, message.sequence, now)
        self._send(
            child.name,
            AttachConfirmation(
                self.source,
                attempt=message.attempt,
                edge=message.edge,
                epoch=message.epoch,
                sequence=message.sequence,
                path=path[:-1],
                ancestors=(*message.ancestors, self.name),
            ),
        )

    def _on_refusal(self, sender: str, message: AttachRefusal, now: float) -> None:
        path = message.path
        if not path or path[-1] != self.name:
            return
        if len(path) == 1:
            if self.state in ATTEMPTS and message.attempt == self.attempt and sender == self.target:
                self._attempt_failed(now)
            return
        if self.relays.pop(message.attempt, None) is None:
            return
        child = self.children.get(path[-2])
        if child is None:
            return
        if len(path) == 2 and child.edge == message.edge and not child.is_active:
            del self.children[child.name]
            self._children_changed(now)
        self._send(
            child.name,
            AttachRefusal(self.source, message.attempt, message.edge, message.reason, path[:-1]),
        )

    def _activate(self, child: ChildLink, sequence: int, now: float) -> None:
        """The confirmation passes: the child receives all documents after ``sequence``."""
        if child.is_active:
            return
        child.is_active = True
        child.heard_at = now
        child.last_sent = sequence
        replaced = [each for each in self.children.values() if each.replacement == child.name]
        for leaving in replaced:
            del self.children[leaving.name]
            self._children_changed(now)
        if child.displaced is not None:
            self._displace(child, now)
        for number, document in self.buffer.between(sequence + 1, self.stream.cursor):
            if self._model.matches(child.filter, document):
                self._forward(child, number, document)

    def _displace(self, child: ChildLink, now: float) -> None:
        """A child is active in the place of another one, which is asked to attach below it.

        The displaced one is not waited for, so that the fan-out is never exceeded. Whatever it
        misses until it has a parent again is replayed.
        """
        displaced = self.children.get(child.displaced or "")
        child.displaced = None
        if displaced is None or not displaced.is_active:
            return
        del self.children[displaced.name]
        self._send(displaced.name, NewParent(self.source, child.name, is_replacement=False))
        self._children_changed(now)

    def _commit(self, message: AttachConfirmation, now: float) -> None:
        """The attempt is confirmed: adopt the new parent."""
        old_parent, old_edge = self.parent, self.edge
        assert self.target is not None
        assert self.attempt_edge is not None
        self.parent, self.edge = self.target, self.attempt_edge
        self.path = message.ancestors
        self.parent_heard_at = now
        if self.displaced is not None:
            self.awaited = self.displaced
        self._forget_attempt()
        self.candidates = []
        self._go(_I.CONFIRMED)
        self._back_off.reset()
        self._failures = 0
        if old_parent is not None and old_edge is not None and old_edge != self.edge:
            self._send(old_parent, Detach(self.source, old_edge))
        if not self.stream.is_started:
            self.stream.start(message.epoch, message.sequence)
            self.buffer.start(message.sequence)
            if self.overlap.statistics.epoch != message.epoch or self.overlap.statistics.last < 1:
                self.overlap.statistics.start(message.epoch, message.sequence)
            self.overlap.extend(message.sequence)
        else:
            self._enter_epoch(message.epoch)
            if self.edge != old_edge:
                self.stream.expect(message.sequence)
        self.coverage.narrowed(self.stream.cursor, self.attempt_interest)
        self.coverage.confirmed(message.sequence, self.attempt_interest)
        self.confirmed = self.attempt_interest
        self._emit(
            Connected(
                self.source,
                parent=self.parent,
                epoch=message.epoch,
                sequence=message.sequence,
                is_move=old_parent is not None,
                is_current=self._model.covers(self.attempt_interest, self.own),
            )
        )
        if self.stream.gap is not None:
            self._request_replay(now)
        self.send_heartbeats()
        self._start_heartbeat(now)
        if self._asked_peer is not None:
            self._reinsert_children()

    def _on_detach(self, sender: str, message: Detach, now: float) -> None:
        child = self.children.get(sender)
        if child is not None and child.edge == message.edge:
            del self.children[sender]
            self._children_changed(now)

    def _on_not_child(self, sender: str, message: NotChild, now: float) -> None:
        if sender == self.parent and message.edge == self.edge:
            self.lose_parent(now)

    # Heartbeats

    def _start_heartbeat(self, now: float) -> None:
        if self.heartbeat_at is None:
            phase = self._host.random.uniform(0.5, 1.0)
            self.heartbeat_at = now + phase * self._options.heartbeat_seconds
        seconds = self._options.reorganise_seconds
        if self.reorganise_at is None and seconds is not None and self.state is not _S.ROOT:
            # Peers that move at the same time refuse each other.
            self.reorganise_at = now + self._host.random.random() * self._options.examine_seconds

    def _send_child_heartbeat(self) -> None:
        assert self.parent is not None
        assert self.edge is not None
        self._send(
            self.parent,
            ChildHeartbeat(self.source, self.edge, self.version, self.aggregate.digest),
        )

    def _send_parent_heartbeat(self, child: ChildLink) -> None:
        if not self.is_connected or not self.stream.is_started:
            # The child keeps a parent that is alive, though it knows no path to the source.
            path: tuple[str, ...] = (self.name,)
        else:
            path = (*self.path, self.name)
        self._send(
            child.name,
            ParentHeartbeat(
                self.source,
                edge=child.edge,
                epoch=self.stream.epoch,
                position=self.stream.cursor,
                last_sent=child.last_sent,
                path=path,
            ),
        )

    def _on_child_heartbeat(self, sender: str, message: ChildHeartbeat, now: float) -> None:
        child = self.children.get(sender)
        if child is None or child.edge != message.edge:
            self._send(sender, NotChild(self.source, message.edge))
            return
        child.heard_at = now
        if message.version >= child.version and message.digest != child.filter.digest:
            self._send(sender, FilterRequest(self.source))

    def _on_parent_heartbeat(self, sender: str, message: ParentHeartbeat, now: float) -> None:
        if sender != self.parent or message.edge != self.edge:
            if message.edge not in {self.edge, self.attempt_edge}:
                self._send(sender, Detach(self.source, message.edge))
            return
        self.parent_heard_at = now
        if self.name in message.path:
            # Excluded by the protocol; a faulty peer may claim it.
            self.lose_parent(now)
            return
        self.path = message.path
        if message.epoch < self.stream.epoch:
            return
        self._enter_epoch(message.epoch)
        if message.last_sent > self.stream.cursor:
            self._expect(message.last_sent, now)
        else:
            self.stream.advance(message.position)
            self.overlap.extend(self.stream.cursor)

    def _on_filter_request(self, sender: str, message: FilterRequest, now: float) -> None:
        if sender != self.parent:
            return
        self._send(sender, FilterStatement(self.source, self.version, self.aggregate))
        self._note_statement()

    def _on_filter_statement(self, sender: str, message: FilterStatement, now: float) -> None:
        child = self.children.get(sender)
        if child is None or message.version < child.version:
            return
        child.version = message.version
        child.filter = message.interest
        self._state_soon(now)

    # Leaving

    def _hand_over(self) -> None:
        """Ask the children to find other parents; the last one replaces this peer."""
        active = [child.name for child in self.children.values() if child.is_active]
        if not active or self.parent is None:
            return
        if self.replacement not in active:
            own = self.overlap.own_bitmap()
            self.replacement = self.overlap.max_overlap_child(self.own, own) or active[0]
        others = [name for name in active if name != self.replacement]
        for name in others:
            self._send(name, NewParent(self.source, self.replacement, is_replacement=False))
        if not others:
            self._send(self.parent, Leaving(self.source, self.replacement))
            self._send(self.replacement, NewParent(self.source, self.parent, is_replacement=True))

    def _on_leaving(self, sender: str, message: Leaving, now: float) -> None:
        child = self.children.get(sender)
        if child is not None and child.is_active:
            child.replacement = message.replacement

    def _on_new_parent(self, sender: str, message: NewParent, now: float) -> None:
        if sender != self.parent or message.peer == self.name:
            return
        if message.is_replacement:
            if self.state is not _S.CONNECTED or self.is_locked:
                return
            self._go(_I.REPLACE)
            self.candidates = []
            self._asked_peer = message.peer
            self._start_attempt(message.peer, now)
        elif self.allows(_I.REINSERT):
            self._search = None
            self._go(_I.REINSERT)
            self._ask_places((message.peer,), now)

    def _reinsert_children(self) -> None:
        """This peer has replaced its parent: its own children look for the best place again."""
        is_replacement = self.parent == self._asked_peer
        self._asked_peer = None
        if not is_replacement:
            return
        for child in self.children.values():
            if child.is_active:
                self._send(child.name, NewParent(self.source, self.name, is_replacement=False))

    def _end_membership(self) -> None:
        if self.parent is not None and self.edge is not None:
            self._send(self.parent, Detach(self.source, self.edge))
        for child in self.children.values():
            self._send(child.name, NotChild(self.source, child.edge))
        self.children.clear()
        self.relays.clear()
        self.parent = self.edge = None
        self.path = ()
        self.replacement = None
        self._search = None
        self._update_aggregate()
        self.phase_at = self.heartbeat_at = self.statement_at = self.reorganise_at = None
        self._emit(Left(self.source))

    # Reorganisation

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

    def _on_eligibility(self, sender: str, message: EligibilityAnswer, now: float) -> None:
        if self.state is not _S.ASKING or sender != self.agent or message.request != self._numbers:
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

    # Delivery

    def _accept(self, sequence: int, document: OverlayDocument) -> None:
        """Process the next document: deliver, forward, remember."""
        statistics = self.overlap.statistics
        self.overlap.extend(sequence)
        bit = 1 << (sequence - statistics.base)
        matches = self._model.matches
        if self.state is _S.ROOT:
            statistics.own |= bit
        elif matches(self.own, document):
            statistics.own |= bit
            self._emit(Deliver(self.source, self.stream.epoch, sequence, document))
        for child in self.children.values():
            if child.is_active and matches(child.filter, document):
                child.sent |= bit
                # This peer may be behind the sequence number from which the child is connected.
                if sequence > child.last_sent:
                    self._forward(child, sequence, document)
        self.buffer.append(sequence, document)
        self.overlap.summary.observe(sequence, document)

    def _forward(self, child: ChildLink, sequence: int, document: OverlayDocument) -> None:
        self._send(
            child.name,
            Forward(self.source, self.stream.epoch, sequence, child.last_sent, document),
        )
        child.last_sent = sequence

    def _on_forward(self, sender: str, message: Forward, now: float) -> None:
        if sender != self.parent:
            return
        self.parent_heard_at = now
        stream = self.stream
        if message.epoch != stream.epoch:
            if message.epoch < stream.epoch:
                return
            self._enter_epoch(message.epoch)
        if message.previous <= stream.cursor < message.sequence and stream.is_complete:
            # The usual case, without the machinery of gaps.
            stream.cursor = message.sequence
            self._accept(message.sequence, message.document)
            return
        self._take(
            stream.offer(StreamItem(message.sequence, message.previous, message.document)), now
        )

    def _on_lost(self, sender: str, message: Lost, now: float) -> None:
        if sender != self.parent or message.epoch < self.stream.epoch:
            return
        self.parent_heard_at = now
        self._enter_epoch(message.epoch)
        item = StreamItem(message.sequence, message.previous, None, max(1, message.first))
        self._take(self.stream.offer(item), now)

    def _take(self, items: list[StreamItem], now: float) -> None:
        """Process items that are in order now, and request what is missing."""
        for item in items:
            if item.lost_from:
                self._report_gap(item.lost_from, item.sequence)
            else:
                self._accept(item.sequence, item.document)
        if self.stream.gap is not None:
            is_due = now - self.replay_asked_at >= self._options.answer_seconds
            if items or is_due:
                self._request_replay(now)

    def _expect(self, sequence: int, now: float) -> None:
        self.stream.expect(sequence)
        if now - self.replay_asked_at >= self._options.answer_seconds:
            self._request_replay(now)

    def _request_replay(self, now: float) -> None:
        if self.parent is None or self.stream.gap is None:
            return
        first, last = self.stream.gap
        self.replay_asked_at = now
        # The gap is filled with what matches the filter of today.
        self.coverage.narrowed(self.stream.cursor, self.aggregate)
        self._send(
            self.parent,
            ReplayRequest(
                self.source,
                requester=self.name,
                epoch=self.stream.epoch,
                first=first,
                last=last,
                interest=self.aggregate,
            ),
        )

    def _on_replay_request(self, sender: str, message: ReplayRequest, now: float) -> None:
        if message.epoch != self.stream.epoch or message.first > message.last:
            return
        is_root = self.state is _S.ROOT
        has_all = self.stream.cursor >= message.last and (
            is_root
            or (
                self.buffer.floor < message.first
                and self.coverage.covers(message.first, message.last, message.interest)
            )
        )
        if not has_all:
            if self.parent is not None and not is_root:
                self._send(self.parent, message)
            return
        lost_through = max(0, min(self.buffer.floor, message.last)) if is_root else 0
        if lost_through < message.first:
            lost_through = 0
        documents: list[Replayed] = []
        total = 0
        last = message.last
        for sequence, document in self.buffer.between(message.first, message.last):
            if not self._model.matches(message.interest, document):
                continue
            total += self._model.size(document)
            if len(documents) == REPLAY_DOCUMENTS_MAX or (documents and total > REPLAY_BYTES_MAX):
                last = documents[-1].sequence
                break
            documents.append(Replayed(sequence, document))
        self._send(
            message.requester,
            Replay(
                self.source,
                epoch=message.epoch,
                first=message.first,
                last=last,
                lost_through=lost_through,
                documents=tuple(documents),
            ),
        )

    def _on_replay(self, sender: str, message: Replay, now: float) -> None:
        stream = self.stream
        if message.epoch != stream.epoch or message.first > stream.cursor + 1:
            return
        if self.state is _S.ROOT or message.last <= stream.cursor:
            return
        items = [
            StreamItem(each.sequence, 0, each.document)
            for each in message.documents
            if each.sequence <= message.last
        ]
        lost_through = min(message.lost_through, message.last)
        if lost_through > stream.cursor:
            items.insert(0, StreamItem(lost_through, 0, None, max(1, message.first)))
        taken = stream.fill(message.last, items)
        self._take(taken, now)
        if stream.gap is not None and not taken:
            self._request_replay(now)

    def _report_gap(self, first: int, last: int) -> None:
        """Documents are lost: for the subscriber, and for everybody below."""
        self._emit(GapReported(self.source, self.stream.epoch, first, last))
        self.buffer.lose(last)
        for child in self.children.values():
            if child.is_active and child.last_sent < last:
                self._send(
                    child.name,
                    Lost(self.source, self.stream.epoch, first, last, child.last_sent),
                )
                child.last_sent = last

    def _enter_epoch(self, epoch: int) -> None:
        """The source has restarted: its sequence starts anew."""
        stream = self.stream
        if epoch <= stream.epoch:
            return
        self._emit(EpochChanged(self.source, epoch, stream.epoch, stream.cursor))
        stream.start(epoch, 0)
        self.overlap.start_epoch(epoch)
        self.buffer.start(0)
        self.coverage.clear()
        for child in self.children.values():
            child.last_sent = 0


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
    OverheadRequest: Membership._on_overhead_request,
    OverheadAnswer: Membership._on_overhead_answer,
    Forward: Membership._on_forward,
    Lost: Membership._on_lost,
    ReplayRequest: Membership._on_replay_request,
    Replay: Membership._on_replay,
}
