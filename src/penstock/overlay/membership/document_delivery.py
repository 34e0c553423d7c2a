"""The documents of one tree at one peer: deliveries, gaps and replays."""

from __future__ import annotations

from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import OverlayDocument
from penstock.overlay.limits import (
    EPOCH_MAX,
    REPLAY_BYTES_MAX,
    REPLAY_DOCUMENTS_MAX,
)
from penstock.overlay.membership.aggregate_filter import AggregateFilter
from penstock.overlay.membership.position import TreePosition
from penstock.overlay.ordered_stream import OrderedStream, StreamItem
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
from penstock.overlay.replay_buffer import ReplayBuffer
from penstock.overlay.tree_overlap import TreeOverlap


class DocumentDelivery:
    """Forwards documents, delivers them in order, and has gaps replayed.

    Everything up to the cursor of the stream is delivered, forwarded, and in the buffer or
    forgotten by it.
    """

    __slots__ = (
        "_filter",
        "_model",
        "_position",
        "_stalled",
        "buffer",
        "overlap",
        "replay_asked_at",
        "stream",
    )

    def __init__(self, position: TreePosition, filter_: AggregateFilter) -> None:
        host = position.host
        limits = host.options.limits
        self._position = position
        self._filter = filter_
        self._model = host.model
        self.stream = OrderedStream(limits.held_documents, limits.held_bytes, host.model.size)
        self.buffer = ReplayBuffer(host.model, limits.buffer_documents, limits.buffer_bytes)
        self.overlap = TreeOverlap(
            host.model, position.children, limits.window_documents, host.random
        )
        self.replay_asked_at = float("-inf")
        self._stalled: tuple[int, float] | None = None
        """The cursor behind which documents are held, and since when."""

    def serve(self, epoch: int) -> None:
        """Begin the stream of this source."""
        self.stream.start(epoch, 0)
        self.overlap.statistics.start(epoch, 0)
        self.buffer.start(0)

    def publish(self, document: OverlayDocument) -> int:
        """Process a document of this source. Returns its sequence number."""
        sequence = self.stream.cursor + 1
        self.stream.cursor = sequence
        self._accept(sequence, document)
        return sequence

    def connect(self, epoch: int, sequence: int, *, is_new_edge: bool) -> None:
        """An attempt is confirmed: documents after a sequence number come from the parent."""
        if self.stream.is_started:
            self.enter_epoch(epoch)
            if is_new_edge:
                self.stream.expect(sequence)
            return
        self.stream.start(epoch, sequence)
        self.buffer.start(sequence)
        if self.overlap.statistics.epoch != epoch or self.overlap.statistics.last < 1:
            self.overlap.statistics.start(epoch, sequence)
        self.overlap.extend(sequence)

    @property
    def complete_after(self) -> int:
        """Documents after it that match what is confirmed come: what is missing now is replayed by
        the filter of the time when it was requested."""
        missing_to = self.stream.gap[1] if self.stream.gap else 0
        return max(self.stream.cursor, missing_to, self._filter.confirmed_after)

    def catch_up(self, child: ChildLink) -> None:
        """Forward to a child what this peer had before the child was known to be connected.

        What the buffer no longer has is a gap for the child, which has it replayed from above.
        """
        child.last_sent = max(child.last_sent, self.buffer.floor)
        for number, document in self.buffer.between(child.last_sent + 1, self.stream.cursor):
            if self._model.matches(child.filter, document):
                self._forward(child, number, document)

    def advance(self, epoch: int, position: int, last_sent: int, now: float) -> None:
        """The parent states what it has sent."""
        if epoch < self.stream.epoch:
            return
        self.enter_epoch(epoch)
        if last_sent > self.stream.cursor:
            self._expect(last_sent, now)
        else:
            self.stream.advance(position)
            self.overlap.extend(self.stream.cursor)

    def repeat_replay_request(self, now: float) -> None:
        """Ask again for what is missing, if the last answer has had its time."""
        if now - self.replay_asked_at >= self._position.host.options.answer_seconds:
            self.request_replay(now)

    def _accept(self, sequence: int, document: OverlayDocument) -> None:
        """Process the next document: deliver, forward, remember."""
        position, statistics = self._position, self.overlap.statistics
        self.overlap.extend(sequence)
        bit = 1 << (sequence - statistics.base)
        matches = self._model.matches
        if position.is_root:
            statistics.own |= bit
        elif matches(self._filter.own, document):
            statistics.own |= bit
            position.emit(Deliver(position.source, self.stream.epoch, sequence, document))
        for child in position.children.values():
            if child.is_active and matches(child.filter, document):
                child.sent |= bit
                # This peer may be behind the sequence number from which the child is connected.
                if sequence > child.last_sent:
                    self._forward(child, sequence, document)
        self.buffer.append(sequence, document)
        self.overlap.summary.observe(sequence, document)

    def _forward(self, child: ChildLink, sequence: int, document: OverlayDocument) -> None:
        position, epoch = self._position, self.stream.epoch
        position.send(
            child.name,
            Forward(position.source, child.edge, epoch, sequence, child.last_sent, document),
        )
        child.last_sent = sequence

    def on_forward(self, sender: str, message: Forward, now: float) -> None:
        """A document arrives."""
        parent = self._position.parent
        if parent is None or parent.edge != message.edge or parent.name != sender:
            return
        parent.heard_at = now
        stream = self.stream
        if message.epoch != stream.epoch:
            if message.epoch < stream.epoch:
                return
            self.enter_epoch(message.epoch)
        if message.previous <= stream.cursor < message.sequence and stream.is_complete:
            # The usual case, without the machinery of gaps.
            stream.cursor = message.sequence
            self._accept(message.sequence, message.document)
            return
        self._take(
            stream.offer(StreamItem(message.sequence, message.previous, message.document)), now
        )

    def on_lost(self, sender: str, message: Lost, now: float) -> None:
        """The parent lost documents."""
        parent = self._position.parent_by(sender, message.edge)
        if parent is None or message.epoch < self.stream.epoch:
            return
        parent.heard_at = now
        self.enter_epoch(message.epoch)
        item = StreamItem(message.sequence, message.previous, None, max(1, message.first))
        self._take(self.stream.offer(item), now)

    def _take(self, items: list[StreamItem], now: float) -> None:
        """Process items that are in order now, and request what is missing."""
        self._process(items)
        if self.stream.gap is not None:
            is_due = now - self.replay_asked_at >= self._position.host.options.answer_seconds
            if items or is_due:
                self.request_replay(now)

    def _process(self, items: list[StreamItem]) -> None:
        for item in items:
            if item.lost_from:
                self._report_gap(item.lost_from, item.sequence)
            else:
                self._accept(item.sequence, item.document)

    def give_up(self) -> None:
        """Nobody will fill the gaps: report them, and process what is held back behind them."""
        self._stalled = None
        self._process(self.stream.give_up())

    def give_up_if_stalled(self, now: float) -> None:
        """Give up a gap that has held documents back for ``gap_seconds`` and is no shorter."""
        cursor, options = self.stream.cursor, self._position.host.options
        if not self.stream.is_holding:
            self._stalled = None
        elif self._stalled is None or self._stalled[0] != cursor:
            self._stalled = cursor, now
        elif now - self._stalled[1] >= options.gap_seconds:
            self.give_up()

    def _expect(self, sequence: int, now: float) -> None:
        self.stream.expect(sequence)
        self.repeat_replay_request(now)

    def request_replay(self, now: float) -> None:
        """Ask the parent for the documents of a gap, if there is one."""
        parent = self._position.parent
        if parent is None or self.stream.gap is None:
            return
        first, last = self.stream.gap
        self.replay_asked_at = now
        # The gap is filled with what matches the filter of today.
        self._filter.coverage.narrowed(self.stream.cursor, self._filter.interest)
        self._position.send(
            parent.name,
            ReplayRequest(
                self._position.source,
                requester=self._position.name,
                epoch=self.stream.epoch,
                first=first,
                last=last,
                interest=self._filter.interest,
            ),
        )

    def on_replay_request(self, sender: str, message: ReplayRequest, now: float) -> None:
        """Somebody below misses documents: send them, or ask upwards."""
        if message.epoch != self.stream.epoch or message.first > message.last:
            return
        is_root, parent = self._position.is_root, self._position.parent
        has_all = self.stream.cursor >= message.last and (
            is_root
            or (
                self.buffer.floor < message.first
                and self._filter.coverage.covers(message.first, message.last, message.interest)
            )
        )
        if not has_all:
            if parent is not None:
                self._position.send(parent.name, message)
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
        self._position.send(
            message.requester,
            Replay(
                self._position.source,
                epoch=message.epoch,
                first=message.first,
                last=last,
                lost_through=lost_through,
                documents=tuple(documents),
            ),
        )

    def on_replay(self, sender: str, message: Replay, now: float) -> None:
        """Documents of a gap arrive."""
        stream = self.stream
        if message.epoch != stream.epoch or message.first > stream.cursor + 1:
            return
        if self._position.is_root or message.last <= stream.cursor:
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
            self.request_replay(now)

    def _report_gap(self, first: int, last: int) -> None:
        """Documents are lost: for the subscriber, and for everybody below."""
        position, epoch = self._position, self.stream.epoch
        position.emit(GapReported(position.source, epoch, first, last))
        self.buffer.lose(last)
        for child in position.children.active():
            if child.last_sent < last:
                position.send(
                    child.name,
                    Lost(position.source, child.edge, epoch, first, last, child.last_sent),
                )
                child.last_sent = last

    @property
    def known_epoch(self) -> int:
        """What this peer reports to the source with an attach request."""
        return min(self.stream.epoch, EPOCH_MAX)

    def outgrow_epoch(self, known: int) -> None:
        """A peer knows an epoch of this source: if it is larger than the present one, the clock
        went back between two starts, and peers would ignore what is sent."""
        if known > self.stream.epoch:
            self.enter_epoch(min(known + 1, EPOCH_MAX))

    def enter_epoch(self, epoch: int) -> None:
        """The source has restarted: its sequence starts anew."""
        stream = self.stream
        if epoch <= stream.epoch:
            return
        self.give_up()
        self._position.emit(EpochChanged(self._position.source, epoch, stream.epoch, stream.cursor))
        stream.start(epoch, 0)
        self.overlap.start_epoch(epoch)
        self.buffer.start(0)
        self._filter.start_epoch()
        for child in self._position.children.values():
            child.last_sent = 0
