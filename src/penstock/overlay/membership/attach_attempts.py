"""A membership's attach attempts: its own, and those of others that pass."""

from __future__ import annotations

from typing import Final

from penstock.overlay.child_link import ChildLink
from penstock.overlay.limits import (
    DEPTH_MAX,
)
from penstock.overlay.membership.base import Displacement, Relay
from penstock.overlay.membership.heartbeats import HeartbeatPart
from penstock.overlay.membership.transitions import (
    ACCEPTS_CHILDREN,
    ATTEMPTS,
    RELAYS,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.peer_messages import (
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    Detach,
    NewParent,
    NotChild,
    RefusalReason,
)
from penstock.overlay.peer_outputs import (
    Connected,
)

_S = MembershipState
_I = MembershipInput

_PATIENCE_MAX: Final = 4
"""Times ``answer_seconds`` that an answer is awaited after several failures."""


class AttachPart(HeartbeatPart):
    """Attaches to a parent, widens filters, and relays requests to the source."""

    def _widen_if_needed(self, now: float) -> None:
        """State a filter to the ancestors that they do not cover yet."""
        if (
            not self.allows(_I.WIDEN)
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
        self.relays[message.attempt] = Relay(
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

    def _has_place_for(self, joiner: str) -> bool:
        if joiner in self.children or self._host.spare_capacity() > 0:
            return True
        return any(child.replacement == joiner for child in self.children.values())

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
