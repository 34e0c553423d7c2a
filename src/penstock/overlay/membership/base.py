"""What the parts of a membership share: its state, its filters, and its outputs."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from penstock.links.back_off import BackOff
from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import Interest, InterestModel
from penstock.overlay.membership.transitions import (
    HAS_PARENT,
    MEMBERSHIP_TRANSITIONS,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.options import PeerOptions
from penstock.overlay.ordered_stream import OrderedStream
from penstock.overlay.peer_messages import (
    AnyPeerMessage,
    Attempt,
)
from penstock.overlay.peer_outputs import (
    PeerOutput,
    Send,
)
from penstock.overlay.placement_search import PlacementSearch
from penstock.overlay.replay_buffer import Coverage, ReplayBuffer
from penstock.overlay.tree_overlap import TreeOverlap

_S = MembershipState


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


class Relay(NamedTuple):
    """An attach attempt of another peer that passed here."""

    parent: str
    interest: Interest
    """The aggregate filter that was stated to the parent."""

    expires_at: float


class MembershipBase(ABC):
    """The state of a membership. Its parts are further classes, each above the one it builds on."""

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

        self.stream = OrderedStream(limits.held_documents, limits.held_bytes, host.model.size)
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
        self.relays: dict[Attempt, Relay] = {}

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

    @property
    def is_connected(self) -> bool:
        """Whether the peer has a parent or is the source."""
        return self.state in HAS_PARENT or self.state is _S.ROOT

    @property
    def is_locked(self) -> bool:
        """Whether an attach attempt of another peer passed here and has not returned."""
        return bool(self.relays)

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
        """Numbers and sets of requests under way, and whether some may not be repeated yet, for
        those who compare states."""
        return (
            self._numbers,
            self._join_number,
            tuple(sorted(self._unanswered)),
            self._rejoin_seeds,
            self._asked_peer,
            self._failures,
            self._widen_at > float("-inf"),
            self.replay_asked_at > float("-inf"),
        )

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

    def _forget_attempt(self) -> None:
        self.attempt = self.attempt_edge = self.target = self.displaced = None

    # What parts need of those above them

    @abstractmethod
    def _children_changed(self, now: float) -> None:
        """A child is gone, or has another filter."""

    @abstractmethod
    def _widen_if_needed(self, now: float) -> None:
        """State a filter to the ancestors that they do not cover yet."""

    @abstractmethod
    def _hand_over(self) -> None:
        """Ask the children to find other parents; the last one replaces this peer."""

    @abstractmethod
    def _reinsert_children(self) -> None:
        """This peer has replaced its parent: its own children look for the best place again."""

    @abstractmethod
    def _end_membership(self) -> None:
        """The peer is in the tree no longer."""
