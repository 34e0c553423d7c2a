"""Bitmaps of documents over a window of sequence numbers."""

from __future__ import annotations

from typing import NamedTuple

from penstock.errors import error
from penstock.overlay.limits import PRIMED_DOCUMENTS_MIN

_WINDOW_BITS_MAX = 1 << 20


class WindowBitmap:
    """Which documents of a range of sequence numbers a filter matches. Immutable.

    >>> one = WindowBitmap(epoch=1, first=11, last=14, bits=0b0110)
    >>> other = WindowBitmap(epoch=1, first=12, last=20, bits=0b001)
    >>> one.aligned(12, 14), other.aligned(12, 14)
    (3, 1)
    """

    # No dataclass, because the encoder of messages would take it for a map of small integers.
    __slots__ = ("bits", "epoch", "first", "last")

    def __init__(self, epoch: int, first: int, last: int, bits: int) -> None:
        length = last - first + 1
        if not 0 <= length <= _WINDOW_BITS_MAX or bits < 0 or bits >> length:
            raise error("overlay.message", "a bitmap has bits outside of its range")
        self.epoch = epoch
        self.first = first
        self.last = last
        self.bits = bits
        """Bit ``i`` stands for sequence number ``first + i``."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WindowBitmap) and self.encode() == other.encode()

    def __hash__(self) -> int:
        return hash((self.epoch, self.first, self.last, self.bits))

    def __repr__(self) -> str:
        return f"WindowBitmap({self.epoch}, {self.first}, {self.last}, {self.bits:#b})"

    def aligned(self, first: int, last: int) -> int:
        """The bits of ``first`` to ``last``, from bit 0 on."""
        if self.first > last or self.last < first:
            return 0  # Also if a faulty peer sends a range that is far away.
        bits = (
            self.bits >> (first - self.first)
            if first >= self.first
            else (self.bits << (self.first - first))
        )
        return bits & ((1 << max(0, last - first + 1)) - 1)

    def encode(self) -> tuple[int, int, int, bytes]:
        """As a tuple for a message."""
        return (
            self.epoch,
            self.first,
            self.last,
            self.bits.to_bytes((self.bits.bit_length() + 7) // 8, "little"),
        )

    @classmethod
    def decode(cls, encoded: object) -> WindowBitmap:
        """The bitmap of :meth:`encode`, or the error ``overlay.message``."""
        match encoded:
            case (int(epoch), int(first), int(last), bytes(bits)) if first >= 0:
                return cls(epoch, first, last, int.from_bytes(bits, "little"))
            case _:
                raise error("overlay.message", "malformed bitmap")


class _InCommon(NamedTuple):
    """Two bitmaps over the sequence numbers of which both peers know something."""

    theirs: int
    ours: int
    length: int


class TreeStatistics:
    """The documents of the window that match a peer's own subscription; children keep theirs.

    All bitmaps of a peer in a tree are integers whose bit ``i`` stands for sequence number
    ``base + i``. The *known range* begins where the peer was connected.
    """

    __slots__ = ("base", "epoch", "first", "last", "own", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        self.epoch = 0
        self.base = 1
        self.first = 1
        self.last = 0
        self.own = 0

    def start(self, epoch: int, sequence: int) -> None:
        """The peer is connected from the number after ``sequence`` on; forget what was before."""
        self.epoch = epoch
        self.base = self.first = sequence + 1
        self.last = sequence
        self.own = 0

    def extend(self, sequence: int) -> int:
        """Extends the known range. Returns by how many bits the caller has to shift its bitmaps to
        the right; mostly 0, because they are trimmed when they are twice as long as the window.
        """
        self.last = max(self.last, sequence)
        length = self.last - self.base + 1
        if length < 2 * self.window:
            return 0
        shift = length - self.window
        self.base += shift
        self.first = max(self.first, self.base)
        self.own >>= shift
        return shift

    def extend_back(self, bitmap: WindowBitmap) -> int:
        """Uses the documents that an ancestor estimated for the time before. Returns by how many
        bits the caller has to shift its bitmaps to the left, because the base moved."""
        if bitmap.epoch != self.epoch or bitmap.last < self.first - 1:
            return 0
        first = max(bitmap.first, self.last - self.window + 1, 1)
        if first >= self.first:
            return 0
        shift = max(0, self.base - first)
        self.base -= shift
        self.own = (self.own << shift) | (
            bitmap.aligned(first, self.first - 1) << (first - self.base)
        )
        self.first = first
        return shift

    def known_first(self) -> int:
        """The first sequence number of the window of which something is known."""
        return max(self.first, self.last - self.window + 1)

    def is_primed(self) -> bool:
        """Whether enough documents have passed."""
        return self.last - self.known_first() + 1 >= PRIMED_DOCUMENTS_MIN

    def bitmap_of(self, bits: int) -> WindowBitmap | None:
        """Bits of this peer as a bitmap for others; ``None`` before there are statistics."""
        if not self.is_primed():
            return None
        first = self.known_first()
        length = self.last - first + 1
        return WindowBitmap(
            self.epoch, first, self.last, (bits >> (first - self.base)) & ((1 << length) - 1)
        )

    def bits_of(self, bitmap: WindowBitmap | None) -> int:
        """The bits of another peer's bitmap, in the positions of this peer's."""
        if bitmap is None or bitmap.epoch != self.epoch:
            return 0
        return bitmap.aligned(self.base, self.last)

    def missing(self, bitmap: WindowBitmap, bits: int) -> float | None:
        """Documents of another peer's bitmap that are not in ``bits``, scaled to a whole window.

        ``None`` if the two have too few sequence numbers in common.
        """
        both = self._in_common(bitmap, bits)
        return None if both is None else self._scaled(both.theirs & ~both.ours, both.length)

    def added(self, bits: int, bitmap: WindowBitmap) -> float | None:
        """Documents in ``bits`` that are not in another peer's bitmap, scaled in the same way."""
        both = self._in_common(bitmap, bits)
        return None if both is None else self._scaled(both.ours & ~both.theirs, both.length)

    def _in_common(self, bitmap: WindowBitmap, bits: int) -> _InCommon | None:
        first = max(bitmap.first, self.known_first())
        last = min(bitmap.last, self.last)
        length = last - first + 1
        if length < PRIMED_DOCUMENTS_MIN or bitmap.epoch != self.epoch:
            return None
        ours = (bits >> (first - self.base)) & ((1 << length) - 1)
        return _InCommon(bitmap.aligned(first, last), ours, length)

    def _scaled(self, bits: int, length: int) -> float:
        return bits.bit_count() * self.window / length
