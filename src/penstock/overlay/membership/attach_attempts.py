"""The attach attempts of a membership's own: for a first parent, for another one, or to widen."""

from __future__ import annotations

from typing import Final, Protocol

from penstock.links.back_off import BackOff
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.attach_attempt import AttachAttempt, Candidate, Displacement
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.parent_link import ParentLink
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import MembershipInput, MembershipState
from penstock.overlay.peer_messages import (
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    Detach,
    Edge,
)
from penstock.overlay.peer_outputs import Connected

_S = MembershipState
_I = MembershipInput

_PATIENCE_MAX: Final = 4
"""Times ``answer_seconds`` that an answer is awaited after several failures."""


class AttemptEnd(Protocol):
    """Who is informed when an attempt ends."""

    def connected(self, now: float) -> None:
        """The attempt is confirmed."""

    def attempt_failed(self) -> None:
        """The attempt is refused or given up, and there is no other candidate."""


class AttachAttempts:
    """Tries candidates one after the other, and adopts the parent that is confirmed."""

    __slots__ = (
        "_back_off",
        "_delivery",
        "_end",
        "_failures",
        "_filter",
        "_is_announced",
        "_position",
        "awaited",
        "candidates",
        "widen_at",
    )

    def __init__(
        self,
        position: TreePosition,
        filter_: AggregateFilter,
        delivery: DocumentDelivery,
        end: AttemptEnd,
    ) -> None:
        options = position.host.options
        self._position = position
        self._filter = filter_
        self._delivery = delivery
        self._end = end
        self.candidates: list[Candidate] = []
        """Places that are tried next, the best first."""
        self.awaited: Displacement | None = None
        """Whose place this peer has taken, and who is to attach here."""
        self.widen_at = float("-inf")
        """When the filter may be widened again after a failure."""
        self._is_announced = True
        """Whether ``Connected`` has said that the present subscription is in force."""
        self._failures = 0
        self._back_off = BackOff(
            position.host.random,
            first_seconds=options.back_off_first_seconds,
            seconds_max=options.back_off_seconds_max,
        )

    @property
    def failures(self) -> int:
        """Failures since the last success."""
        return self._failures

    def patience(self) -> float:
        """How long an answer is awaited: longer after each failure, because trees may be deep and
        links slow."""
        return self._position.host.options.answer_seconds * min(1 << self._failures, _PATIENCE_MAX)

    def next_delay(self) -> float:
        """There was no candidate, or none that confirmed: how long to wait."""
        self._failures += 1
        return self._back_off.next_seconds()

    def widen_if_needed(self, now: float) -> None:
        """State a filter to the ancestors that they do not cover yet."""
        position = self._position
        if (
            not position.allows(_I.WIDEN)
            or self._filter.is_locked
            or now < self.widen_at
            or self._filter.is_confirmed()
        ):
            return
        position.go(_I.WIDEN)
        assert position.parent is not None
        self.candidates = []
        self._filter.note_statement(self._delivery.stream.cursor)
        self.start(position.parent.name, now, edge=position.parent.edge)

    def subscription_changed(self, now: float) -> None:
        """State it to the ancestors, unless they forward what it wants already."""
        self._is_announced = False
        self.widen_if_needed(now)
        self.announce()

    def announce(self) -> None:
        """Say that a changed subscription is in force, if no attempt was needed for it.

        An attempt that is under way may have stated a filter without it.
        """
        position, stated, delivery = self._position, self._filter, self._delivery
        is_announced = self._is_announced or position.state is _S.LEAVING
        if is_announced or position.parent is None or position.attempt is not None:
            return
        if position.host.model.covers(stated.confirmed, stated.own):
            self._connected(
                position.parent.name, delivery.stream.epoch, delivery.complete_after, is_move=False
            )

    def _connected(self, parent: str, epoch: int, sequence: int, *, is_move: bool) -> None:
        position, stated = self._position, self._filter
        self._is_announced = position.host.model.covers(stated.confirmed, stated.own)
        position.emit(
            Connected(
                position.source,
                parent=parent,
                epoch=epoch,
                sequence=sequence,
                is_move=is_move,
                is_current=self._is_announced,
            )
        )

    def start(
        self,
        target: str,
        now: float,
        *,
        edge: Edge | None = None,
        displaced: Displacement | None = None,
    ) -> None:
        """Ask a peer to be the parent, or the parent to forward more."""
        position, stated = self._position, self._filter
        attempt = Attempt(position.name, position.host.incarnation, position.next_number())
        position.attempt = AttachAttempt(
            attempt, target, edge, displaced, stated.interest, stated.version
        )
        self.awaited = None
        self._request(position.attempt, now)

    def restart_if_restated(self, now: float) -> None:
        """Another filter has been stated to the parent since an attempt to widen it began: begin
        anew, because a confirmation of that attempt would count for what is stated no longer."""
        own = self._position.attempt
        if own is not None and own.edge is not None and own.version != self._filter.version:
            self.start(own.target, now, edge=own.edge)

    def try_next(self, now: float) -> None:
        """Try the next candidate."""
        candidate = self.candidates.pop(0)
        self.start(candidate.peer, now, displaced=candidate.displaced)

    def _request(self, own: AttachAttempt, now: float) -> None:
        position = self._position
        own.tries += 1
        position.send(
            own.target,
            AttachRequest(
                position.source,
                attempt=own.attempt,
                edge=own.edge,
                interest=own.interest,
                version=own.version,
                bitmap=self._delivery.overlap.bitmap(),
                path=(position.name,),
                displaced=None if own.displaced is None else own.displaced.peer,
                epoch=self._delivery.known_epoch,
            ),
        )
        position.phase_at = now + self.patience()

    def repeat(self, now: float) -> None:
        """There is no answer: ask again, or give the attempt up."""
        own = self._position.attempt
        assert own is not None
        if own.tries < self._position.host.options.attempt_tries:
            self._request(own, now)
            return
        self.abandon()
        self.failed(now)

    def abandon(self) -> None:
        """Withdraw the statement that this peer is a child of the target."""
        own = self._position.attempt
        if own is not None and own.edge is None:
            self._position.send(own.target, Detach(self._position.source, own.attempt))
        self._position.attempt = None

    def failed(self, now: float) -> None:
        """The attempt is refused or given up: try the next candidate, or wait."""
        position = self._position
        position.attempt = None
        if self.candidates:
            position.go(_I.REFUSED_NEXT)
            self.try_next(now)
            return
        self._end.attempt_failed()
        position.go(_I.REFUSED_LAST)
        delay = self.next_delay()
        if position.state is _S.WAITING:
            position.phase_at = now + delay
        else:
            self.widen_at = now + delay
            self.announce()

    def on_confirmation(self, sender: str, message: AttachConfirmation, now: float) -> None:
        """The confirmation has arrived."""
        own = self._position.attempt
        if (
            own is not None
            and message.attempt == own.attempt
            and sender == own.target
            and message.version == own.version
            and message.epoch >= self._delivery.stream.epoch
        ):
            self._commit(own, message, now)

    def on_refusal(self, sender: str, message: AttachRefusal, now: float) -> None:
        """The refusal has arrived."""
        own = self._position.attempt
        if own is not None and message.attempt == own.attempt and sender == own.target:
            self.failed(now)

    def _commit(self, own: AttachAttempt, message: AttachConfirmation, now: float) -> None:
        """The attempt is confirmed: adopt the new parent."""
        position, old = self._position, self._position.parent
        made_by, interest = own.attempt, own.interest
        if own.edge is not None and old is not None:
            made_by = old.attempt
        position.parent = ParentLink(own.target, made_by, message.edge, message.ancestors, now)
        if own.displaced is not None:
            self.awaited = own.displaced
        position.attempt = None
        self.candidates = []
        position.go(_I.CONFIRMED)
        self._back_off.reset()
        self._failures = 0
        if old is not None and old.attempt != made_by:
            position.send(old.name, Detach(position.source, old.attempt))
        is_new_edge = old is None or old.edge != message.edge
        self._delivery.connect(message.epoch, message.sequence, is_new_edge=is_new_edge)
        self._filter.coverage.narrowed(self._delivery.stream.cursor, interest)
        self._filter.confirm(message.sequence, interest)
        is_move = old is not None and is_new_edge
        self._connected(own.target, message.epoch, message.sequence, is_move=is_move)
        self._delivery.request_replay(now)
        self._end.connected(now)
