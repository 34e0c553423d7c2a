"""Attach requests of others on their way to the source, and the children that they make."""

from __future__ import annotations

from collections.abc import Callable

from penstock.overlay.child_link import ChildLink
from penstock.overlay.limits import DEPTH_MAX
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.membership.transitions import ACCEPTS_CHILDREN, RELAYS
from penstock.overlay.peer_messages import (
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Detach,
    NewParent,
    NotChild,
    RefusalReason,
)


class AttachPath:
    """Relays requests upwards and answers downwards, and accepts children.

    Parameters
    ----------
    children_changed
        Called when a child is gone.
    """

    __slots__ = ("_children_changed", "_delivery", "_filter", "_position")

    def __init__(
        self,
        position: TreePosition,
        filter_: AggregateFilter,
        delivery: DocumentDelivery,
        children_changed: Callable[[float], None],
    ) -> None:
        self._position = position
        self._filter = filter_
        self._delivery = delivery
        self._children_changed = children_changed

    def on_request(self, sender: str, message: AttachRequest, now: float) -> None:
        """Refuse a request, or state its filter further upwards."""
        position, stated = self._position, self._filter
        path = message.path
        if not path or path[-1] != sender or path[0] != message.attempt.peer:
            return
        refusal = self.refusal_of(sender, message)
        if refusal is not None:
            position.send(
                sender, AttachRefusal(position.source, message.attempt, refusal, message.path)
            )
            if refusal is RefusalReason.NOT_CHILD and message.edge is not None:
                position.send(sender, NotChild(position.source, message.edge))
            return
        child = position.children.get(sender)
        if message.edge is None and (child is None or child.attempt != message.attempt):
            if child is not None and message.attempt < child.attempt:
                return  # A late request of an attempt that the child has given up since.
            child = position.children.add(sender, message.attempt, message.interest, now)
            child.displaced = message.displaced
        assert child is not None
        if message.version < child.version:
            return  # The child has stated another filter since, and repeats what still counts.
        if not child.is_active:
            child.heard_at = now
        child.version = message.version
        child.filter = message.interest
        self._delivery.overlap.note_child(child, message.bitmap)
        stated.update()
        if position.is_root:
            self._delivery.outgrow_epoch(message.epoch)
            self._confirm(message, now)
            return
        assert position.parent is not None
        stream = self._delivery.stream
        stated.note_statement(stream.cursor)
        stated.relay(
            message.attempt,
            edge=child.edge,
            child_version=message.version,
            stated_at=(stream.epoch, stream.cursor),
            expires_at=now + position.host.options.attempt_seconds,
        )
        position.send(
            position.parent.name,
            AttachRequest(
                position.source,
                attempt=message.attempt,
                edge=position.parent.edge,
                interest=stated.interest,
                version=stated.version,
                bitmap=message.bitmap,
                path=(*message.path, position.name),
                epoch=max(message.epoch, self._delivery.known_epoch),
            ),
        )

    def refusal_of(self, sender: str, message: AttachRequest) -> RefusalReason | None:
        """Why a request is refused, if it is."""
        position, relayed = self._position, self._filter.relayed
        mover = message.attempt.peer
        if position.name in message.path:
            return RefusalReason.CYCLE
        if position.state not in RELAYS:
            return RefusalReason.BUSY
        if len(message.path) >= DEPTH_MAX:
            return RefusalReason.TOO_DEEP
        if (
            len(relayed) >= position.host.options.limits.path_attempts
            and message.attempt not in relayed
        ):
            return RefusalReason.BUSY
        known = position.children.get(sender)
        if message.edge is not None or sender != mover:
            is_child = known is not None and known.edge == message.edge
            return None if is_child else RefusalReason.NOT_CHILD
        if known is not None and known.attempt == message.attempt:
            return None
        if position.state not in ACCEPTS_CHILDREN:
            return RefusalReason.BUSY
        has_place = position.has_place_for(mover) or position.children.can_be_displaced(
            message.displaced, mover
        )
        return None if has_place else RefusalReason.FULL

    def _confirm(self, message: AttachRequest, now: float) -> None:
        position, stream = self._position, self._delivery.stream
        child = position.children[message.path[-1]]
        confirmation = AttachConfirmation(
            position.source,
            attempt=message.attempt,
            edge=child.edge,
            version=message.version,
            epoch=stream.epoch,
            sequence=stream.cursor,
            path=message.path,
            ancestors=(position.name,),
        )
        is_new = len(message.path) == 1 and self._activate(child, stream.cursor, now)
        position.send(child.name, confirmation)
        if is_new:
            self._delivery.catch_up(child)

    def on_confirmation(self, sender: str, message: AttachConfirmation, now: float) -> None:
        """A confirmation passes: the filter is in force, and a new child is active."""
        position, path = self._position, message.path
        relayed = self._filter.relayed.get(message.attempt)
        if (
            relayed is None
            or position.parent_by(sender, message.edge) is None
            or message.version != relayed.version
            or message.epoch < self._delivery.stream.epoch
            or (message.epoch, message.sequence) < relayed.stated_at
        ):
            return
        self._filter.unlock(message.attempt)
        self._delivery.enter_epoch(message.epoch)
        self._filter.confirm(message.sequence, relayed.interest)
        child = position.children.by_edge(path[-2], relayed.edge)
        if child is None:
            return
        is_new = len(path) == 2 and self._activate(child, message.sequence, now)
        position.send(
            child.name,
            AttachConfirmation(
                position.source,
                attempt=message.attempt,
                edge=child.edge,
                version=relayed.child_version,
                epoch=message.epoch,
                sequence=message.sequence,
                path=path[:-1],
                ancestors=(*message.ancestors, position.name),
            ),
        )
        if is_new:
            self._delivery.catch_up(child)

    def on_refusal(self, message: AttachRefusal, now: float) -> None:
        """A refusal passes."""
        position, path = self._position, message.path
        relayed = self._filter.unlock(message.attempt)
        if relayed is None:
            return
        child = position.children.by_edge(path[-2], relayed.edge)
        if child is None:
            return
        if len(path) == 2 and not child.is_active:
            self._remove(child, now)
        position.send(
            child.name,
            AttachRefusal(position.source, message.attempt, message.reason, path[:-1]),
        )

    def _activate(self, child: ChildLink, sequence: int, now: float) -> bool:
        """The confirmation passes: the child receives all documents after ``sequence``.

        Returns whether it is new. It does not know the edge before it has the confirmation, so that
        is sent before the documents that the child is behind.
        """
        if child.is_active:
            return False
        child.is_active = True
        child.heard_at = now
        child.last_sent = sequence
        children = self._position.children
        for leaving in [each for each in children.values() if each.replacement == child.name]:
            self._remove(leaving, now)
        if child.displaced is not None:
            self._displace(child, now)
        return True

    def _displace(self, child: ChildLink, now: float) -> None:
        """A child is active in the place of another one, which is asked to attach below it.

        The displaced one is not waited for, so that the fan-out is never exceeded. Whatever it
        misses until it has a parent again is replayed.
        """
        position = self._position
        displaced = position.children.get(child.displaced or "")
        child.displaced = None
        if displaced is None:
            return
        if displaced.is_active:
            position.send(
                displaced.name, NewParent(position.source, child.name, is_replacement=False)
            )
        self._remove(displaced, now)

    def on_detach(self, sender: str, message: Detach, now: float) -> None:
        """A child has another parent, or gives its attempt up."""
        child = self._position.children.get(sender)
        if child is not None and child.attempt == message.attempt:
            self._remove(child, now)

    def _remove(self, child: ChildLink, now: float) -> None:
        self._position.children.remove(child.name)
        self._children_changed(now)
