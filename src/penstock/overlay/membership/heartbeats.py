"""Heartbeats to a parent and to children: who is alive, and which filters are stated."""

from __future__ import annotations

from penstock.overlay.child_link import ChildLink
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.document_delivery import DocumentDelivery
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.peer_messages import (
    ChildHeartbeat,
    Detach,
    FilterRequest,
    FilterStatement,
    NotChild,
    ParentHeartbeat,
    SourceAnnouncement,
)


class Heartbeats:
    """Sends heartbeats, and notes those of the neighbours."""

    __slots__ = ("_delivery", "_filter", "_position", "heartbeat_at", "statement_at")

    def __init__(
        self, position: TreePosition, filter_: AggregateFilter, delivery: DocumentDelivery
    ) -> None:
        self._position = position
        self._filter = filter_
        self._delivery = delivery
        self.heartbeat_at: float | None = None
        self.statement_at: float | None = None
        """When a filter that has become narrower is stated, before the next heartbeat."""

    def start(self, now: float) -> None:
        """Send heartbeats from now on."""
        if self.heartbeat_at is None:
            host = self._position.host
            phase = host.random.uniform(0.5, 1.0)
            self.heartbeat_at = now + phase * host.options.heartbeat_seconds

    def stop(self) -> None:
        """Send none any more."""
        self.heartbeat_at = self.statement_at = None

    def is_due(self, now: float) -> bool:
        """Whether it is time for heartbeats; the next ones are due an interval later."""
        if self.heartbeat_at is None or now < self.heartbeat_at:
            return False
        self.heartbeat_at = now + self._position.host.options.heartbeat_seconds
        return True

    def state_if_due(self, now: float) -> None:
        """State a filter that has become narrower, if its time has come."""
        if self.statement_at is not None and now >= self.statement_at:
            self.statement_at = None
            self._send_to_parent()

    def state_soon(self, now: float) -> None:
        """The aggregate filter may be narrower: do not wait for a heartbeat on every level.

        Other changes follow soon in most cases, so they are waited for.
        """
        is_changed = self._filter.update()
        if is_changed and self.statement_at is None and self._position.parent is not None:
            self.statement_at = now + self._position.host.options.answer_seconds

    def is_parent_silent(self, now: float) -> bool:
        """Whether the parent has been silent for too long."""
        parent = self._position.parent
        silence = self._position.host.options.silence_seconds
        return parent is not None and parent.heard_at < now - silence

    def silent_children(self, now: float) -> list[str]:
        """Children that have been silent for too long."""
        options = self._position.host.options
        silent_since = now - options.silence_seconds
        return [
            child.name
            for child in self._position.children.values()
            if child.heard_at < silent_since - (0.0 if child.is_active else options.attempt_seconds)
        ]

    def send(self) -> None:
        """Send heartbeats to the parent and to all children; a source announces itself."""
        position = self._position
        if position.is_root and position.agent is not None:
            position.send(position.agent, SourceAnnouncement(position.source))
        self._send_to_parent()
        for child in position.children.values():
            if child.is_active:
                self._send_to_child(child)

    def _send_to_parent(self) -> None:
        position, stated = self._position, self._filter
        if position.parent is not None:
            position.send(
                position.parent.name,
                ChildHeartbeat(
                    position.source,
                    position.parent.edge,
                    stated.version,
                    stated.interest.digest,
                ),
            )

    def _send_to_child(self, child: ChildLink) -> None:
        position, stream = self._position, self._delivery.stream
        if not position.is_connected or not stream.is_started:
            # The child keeps a parent that is alive, though it knows no path to the source.
            path: tuple[str, ...] = (position.name,)
        else:
            path = (*position.path, position.name)
        position.send(
            child.name,
            ParentHeartbeat(
                position.source,
                attempt=child.attempt,
                edge=child.edge,
                epoch=stream.epoch,
                position=stream.cursor,
                last_sent=child.last_sent,
                path=path,
            ),
        )

    def on_child_heartbeat(self, sender: str, message: ChildHeartbeat, now: float) -> None:
        """A child is alive, or one that was removed does not know it."""
        position = self._position
        child = position.children.by_edge(sender, message.edge)
        if child is None:
            position.send(sender, NotChild(position.source, message.edge))
            return
        child.heard_at = now
        if message.version >= child.version and message.digest != child.filter.digest:
            position.send(sender, FilterRequest(position.source))

    def on_parent_heartbeat(self, sender: str, message: ParentHeartbeat, now: float) -> bool:
        """The parent is alive. Returns whether it is below this peer, by what it says."""
        position = self._position
        parent = position.parent_by(sender, message.edge)
        if parent is None:
            # A late copy of the request for the present edge may have made another one: this peer's
            # own heartbeats show whether the present one is still known.
            is_present = (
                position.parent is not None and position.parent.attempt == message.attempt
            ) or (position.attempt is not None and position.attempt.attempt == message.attempt)
            if not is_present:
                position.send(sender, Detach(position.source, message.attempt))
            return False
        parent.heard_at = now
        if position.name in message.path:
            # Excluded by the protocol; a faulty peer may claim it.
            return True
        parent.path = message.path
        self._delivery.advance(message.epoch, message.position, message.last_sent, now)
        return False

    def state_filter(self) -> None:
        """The parent has another filter than the one that was stated by digest."""
        position, stated = self._position, self._filter
        parent = position.parent
        assert parent is not None
        statement = FilterStatement(position.source, parent.edge, stated.version, stated.interest)
        position.send(parent.name, statement)
        stated.note_statement(self._delivery.stream.cursor)

    def on_filter_statement(self, sender: str, message: FilterStatement, now: float) -> None:
        """A child states its filter."""
        child = self._position.children.by_edge(sender, message.edge)
        if child is None or message.version < child.version:
            return
        child.version = message.version
        child.filter = message.interest
        self.state_soon(now)
