"""A membership's heartbeats: who is alive, and which filters are stated."""

from __future__ import annotations

from typing import Final

from penstock.overlay.child_link import ChildLink
from penstock.overlay.limits import (
    REJOIN_ANCESTORS_MAX,
)
from penstock.overlay.membership.delivery import DeliveryPart
from penstock.overlay.membership.transitions import (
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    Attempt,
    ChildHeartbeat,
    Detach,
    FilterRequest,
    FilterStatement,
    NotChild,
    ParentHeartbeat,
    SourceAnnouncement,
)
from penstock.overlay.peer_outputs import (
    ChildLost,
    Disconnected,
)

_S = MembershipState
_I = MembershipInput

_REJOIN_JITTER: Final = 0.25
"""Orphans wait up to this share of ``answer_seconds``, so that siblings do not join all at once."""


class HeartbeatPart(DeliveryPart):
    """Sends heartbeats, and removes a parent or child that is silent for too long."""

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
        """Send heartbeats to the parent and to all children; a source announces itself."""
        if self.state is _S.ROOT and self.agent is not None:
            self._send(self.agent, SourceAnnouncement(self.source))
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

    def _on_not_child(self, sender: str, message: NotChild, now: float) -> None:
        if sender == self.parent and message.edge == self.edge:
            self.lose_parent(now)
