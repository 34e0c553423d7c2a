"""Documents that a peer keeps for replays, and what it is known to have received completely."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from penstock.overlay.interest import Interest, InterestModel, OverlayDocument
from penstock.overlay.limits import COVERAGE_INTERVALS_MAX


class ReplayBuffer:
    """The latest documents of a tree, bounded in number and bytes.

    Every document that the peer processed after ``floor`` is in the buffer.
    """

    __slots__ = ("_bytes", "_bytes_max", "_documents", "_documents_max", "_model", "floor")

    def __init__(self, model: InterestModel, documents_max: int, bytes_max: int) -> None:
        self._model = model
        self._documents_max = documents_max
        self._bytes_max = bytes_max
        self._documents: deque[tuple[int, OverlayDocument]] = deque()
        self._bytes = 0
        self.floor = 0

    def __len__(self) -> int:
        return len(self._documents)

    def start(self, sequence: int) -> None:
        """Forget everything: nothing up to ``sequence`` is in the buffer."""
        self._documents.clear()
        self._bytes = 0
        self.floor = sequence

    def lose(self, last: int) -> None:
        """Documents up to ``last`` are lost: ranges that contain them cannot be replayed."""
        self.floor = max(self.floor, last)

    def append(self, sequence: int, document: OverlayDocument) -> None:
        """Add the next document; the oldest ones are evicted at the bounds."""
        documents = self._documents
        documents.append((sequence, document))
        self._bytes += self._model.size(document)
        while len(documents) > self._documents_max or self._bytes > self._bytes_max:
            last, evicted = documents.popleft()
            self.floor = max(self.floor, last)
            self._bytes -= self._model.size(evicted)
            if not documents:
                break

    def between(self, first: int, last: int) -> Iterator[tuple[int, OverlayDocument]]:
        """The documents from ``first`` to ``last`` that are in the buffer, in order."""
        for sequence, document in self._documents:
            if sequence > last:
                return
            if sequence >= first:
                yield sequence, document


class Coverage:
    """For which sequence numbers a peer received all documents that match which interest.

    A confirmation opens an interval: the filters up to the source match the interest after its
    sequence number. Narrowing the filter closes it.
    """

    __slots__ = ("_intervals", "_model")

    def __init__(self, model: InterestModel) -> None:
        self._model = model
        self._intervals: deque[tuple[int, int | None, Interest]] = deque(
            maxlen=COVERAGE_INTERVALS_MAX
        )

    def intervals(self) -> tuple[tuple[int, int | None, Interest], ...]:
        """After which sequence number, up to which one, and which interest."""
        return tuple(self._intervals)

    def clear(self) -> None:
        """Forget everything: the sequence starts anew."""
        self._intervals.clear()

    def confirmed(self, sequence: int, interest: Interest) -> None:
        """All documents after ``sequence`` that match the interest are received from now on."""
        if any(
            to is None and after <= sequence and self._model.covers(known, interest)
            for after, to, known in self._intervals
        ):
            return
        self._intervals.append((sequence, None, interest))

    def narrowed(self, cursor: int, interest: Interest) -> None:
        """After ``cursor``, only documents that match the interest are sure to be received."""
        kept: list[tuple[int, int | None, Interest]] = []
        for after, to, known in self._intervals:
            if to is None and not self._model.covers(interest, known):
                kept.append((after, cursor, known))
                if self._model.covers(known, interest):
                    kept.append((after, None, interest))
            else:
                kept.append((after, to, known))
        self._intervals.clear()
        self._intervals.extend(dict.fromkeys(kept))

    def covers(self, first: int, last: int, interest: Interest) -> bool:
        """Whether all documents from ``first`` to ``last`` that match were received."""
        return any(
            after < first and (to is None or to >= last) and self._model.covers(known, interest)
            for after, to, known in self._intervals
        )
