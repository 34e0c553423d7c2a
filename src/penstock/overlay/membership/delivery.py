"""A membership's delivery: documents, gaps and replays."""

from __future__ import annotations

from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import OverlayDocument
from penstock.overlay.limits import (
    REPLAY_BYTES_MAX,
    REPLAY_DOCUMENTS_MAX,
)
from penstock.overlay.membership.base import MembershipBase
from penstock.overlay.membership.transitions import (
    MembershipState,
)
from penstock.overlay.ordered_stream import StreamItem
from penstock.overlay.peer_messages import (
    Forward,
    Lost,
    Replay,
    Replayed,
    ReplayRequest,
)
from penstock.overlay.peer_outputs import (
    Deliver,
    EpochChanged,
    GapReported,
)

_S = MembershipState


class DeliveryPart(MembershipBase):
    """Forwards documents, delivers them in order, and has gaps replayed."""

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
