"""The stream of documents of one source at one peer: order, duplicates, gaps."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from penstock.overlay.interest import OverlayDocument


class StreamItem(NamedTuple):
    """A document, or the statement that documents are lost."""

    sequence: int
    previous: int
    document: OverlayDocument
    lost_from: int = 0
    """The first lost sequence number, up to ``sequence``; 0 for a document."""


class OrderedStream:
    """Everything up to the *cursor* is processed; later items are held until the gap is filled.

    Items say which number was sent before them over the same link. An item whose predecessor is
    beyond the cursor shows a gap.

    Parameters
    ----------
    held_max
        Items that are held; further ones are dropped.
    bytes_max
        Bytes of documents that are held, likewise.
    size
        Bytes of a document.

    Examples
    --------
    >>> stream = OrderedStream(held_max=10, bytes_max=1_000, size=len)
    >>> stream.start(epoch=1, sequence=5)
    >>> stream.offer(StreamItem(7, 5, "seven"))
    [StreamItem(sequence=7, previous=5, document='seven', lost_from=0)]
    >>> stream.offer(StreamItem(12, 9, "twelve")), stream.gap
    ([], (8, 9))
    >>> [item.sequence for item in stream.fill(9, [StreamItem(9, 8, "nine")])], stream.gap
    ([9, 12], None)
    """

    __slots__ = (
        "_bytes_max",
        "_held",
        "_held_bytes",
        "_held_max",
        "_size",
        "cursor",
        "dropped",
        "epoch",
        "gap",
        "is_started",
    )

    def __init__(
        self, held_max: int, bytes_max: int, size: Callable[[OverlayDocument], int]
    ) -> None:
        self._held_max = held_max
        self._bytes_max = bytes_max
        self._size = size
        self._held: dict[int, StreamItem] = {}
        self._held_bytes = 0
        self.is_started = False
        self.epoch = 0
        self.cursor = 0
        self.gap: tuple[int, int] | None = None
        """First and last sequence number that are missing."""
        self.dropped = 0
        """Items that were not held because too many are; they show as a gap later."""

    @property
    def is_holding(self) -> bool:
        """Whether items are held back."""
        return bool(self._held)

    @property
    def is_complete(self) -> bool:
        """Whether nothing is known to be missing."""
        return self.gap is None and not self._held

    def held_items(self) -> list[StreamItem]:
        """The items that are held, in order."""
        return [self._held[sequence] for sequence in sorted(self._held)]

    def start(self, epoch: int, sequence: int) -> None:
        """Begin after a sequence number: at the first connection, and with every epoch."""
        self.is_started = True
        self.epoch = epoch
        self.cursor = sequence
        self.gap = None
        self._held.clear()
        self._held_bytes = 0

    def expect(self, sequence: int) -> None:
        """Everything up to a sequence number has been sent; what is not processed is missing."""
        if sequence > self.cursor:
            last = max(sequence, self.gap[1]) if self.gap else sequence
            self.gap = (self.cursor + 1, last)

    def offer(self, item: StreamItem) -> list[StreamItem]:
        """Take an item from the parent. Returns the items that are in order now."""
        if item.sequence <= self.cursor:
            return []
        if not self._is_next(item):
            if item.sequence not in self._held:
                held_bytes = self._held_bytes + self._bytes_of(item)
                if len(self._held) >= self._held_max or held_bytes > self._bytes_max:
                    self.dropped += 1
                    if not self._held:
                        self.expect(item.previous)
                    return []
                self._held[item.sequence] = item
                self._held_bytes = held_bytes
            self._find_gap()
            return []
        return [self._processed(item), *self._drained()]

    def fill(self, last: int, items: list[StreamItem]) -> list[StreamItem]:
        """Take a replay that is complete up to ``last``. Returns the items in order now."""
        accepted = [self._processed(item) for item in items if item.sequence > self.cursor]
        self.cursor = max(self.cursor, last)
        accepted += self._drained()
        return accepted

    def give_up(self) -> list[StreamItem]:
        """Nobody fills the gaps. Returns what was held, in order, and statements of what is lost in
        between."""
        missing_to = self.gap[1] if self.gap else 0
        taken: list[StreamItem] = []
        for item in self.held_items():
            if item.sequence > self.cursor:
                last = max(item.previous, min(missing_to, item.sequence - 1))
                taken += [*self._lost_through(last), self._processed(item)]
        taken += self._lost_through(missing_to)
        self.gap = None
        self._held.clear()
        self._held_bytes = 0
        return taken

    def _lost_through(self, last: int) -> list[StreamItem]:
        if last <= self.cursor:
            return []
        return [self._processed(StreamItem(last, 0, None, lost_from=self.cursor + 1))]

    def advance(self, sequence: int) -> None:
        """There is nothing for this peer up to a sequence number."""
        if self.gap is None and not self._held:
            self.cursor = max(self.cursor, sequence)

    def _processed(self, item: StreamItem) -> StreamItem:
        if item.lost_from:
            item = item._replace(lost_from=max(item.lost_from, self.cursor + 1))
        self.cursor = item.sequence
        return item

    def _bytes_of(self, item: StreamItem) -> int:
        return 0 if item.lost_from else self._size(item.document)

    def _first_held(self) -> StreamItem:
        return self._held[min(self._held)]

    def _is_next(self, item: StreamItem) -> bool:
        """Whether nothing is missing before an item. A known gap counts more than the item's own
        statement, which may be from an older link."""
        if self.gap is not None and item.sequence > self.gap[1]:
            return False
        return item.previous <= self.cursor

    def _find_gap(self) -> None:
        """A gap ends at the cursor; the next one is before the first item that is held."""
        if self.gap is not None:
            last = self.gap[1]
            self.gap = (self.cursor + 1, last) if last > self.cursor else None
        if self.gap is None and self._held:
            self.expect(self._first_held().previous)

    def _drained(self) -> list[StreamItem]:
        drained: list[StreamItem] = []
        self._find_gap()
        while self._held:
            item = self._first_held()
            if item.sequence > self.cursor:
                if not self._is_next(item):
                    break
                drained.append(self._processed(item))
            del self._held[item.sequence]
            self._held_bytes -= self._bytes_of(item)
            self._find_gap()
        return drained
