"""Extensional overlap in one tree: what a peer receives for whom, over the window of statistics."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping

from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import Interest, InterestModel, Summary
from penstock.overlay.options import ChildChoice
from penstock.overlay.window_bitmap import TreeStatistics, WindowBitmap


class TreeOverlap:
    """The bitmaps of a peer and of its children, and what follows from them.

    Parameters
    ----------
    model
        Compares the structure of queries while there are no statistics.
    children
        The peer's children, as it changes.
    window
        Sequence numbers of the window.
    random
        Decides ties.
    """

    __slots__ = ("_children", "_model", "_random", "statistics", "summary")

    def __init__(
        self,
        model: InterestModel,
        children: Mapping[str, ChildLink],
        window: int,
        random: random.Random,
    ) -> None:
        self._model = model
        self._children = children
        self._random = random
        self.statistics = TreeStatistics(window)
        self.summary: Summary = model.new_summary(window)

    # The window

    def extend(self, sequence: int) -> None:
        """Extend the window to a sequence number."""
        shift = self.statistics.extend(sequence)
        if shift:
            for child in self._children.values():
                child.sent >>= shift

    def extend_back(self, bitmap: WindowBitmap) -> None:
        """Use what an ancestor estimated for the time before this peer was connected."""
        shift = self.statistics.extend_back(bitmap)
        for child in self._children.values():
            child.sent <<= shift

    def start_epoch(self, epoch: int) -> None:
        """Forget everything: the sequence starts anew."""
        self.statistics.start(epoch, 0)
        self.summary.clear()
        for child in self._children.values():
            child.sent = 0

    def change_own(self, interest: Interest) -> None:
        """The peer's own subscription is another one: look up what it would have matched."""
        statistics = self.statistics
        first = statistics.known_first()
        found = self.summary.look_up(interest, first, statistics.last)
        statistics.own = found << (first - statistics.base)

    # Estimates for others

    def estimate(self, interest: Interest) -> WindowBitmap | None:
        """The documents that a query matches among those that this peer has seen."""
        statistics = self.statistics
        if not statistics.is_primed():
            return None
        first = statistics.known_first()
        bits = self.summary.look_up(interest, first, statistics.last)
        return WindowBitmap(statistics.epoch, first, statistics.last, bits)

    def note_child(self, child: ChildLink, bitmap: WindowBitmap | None) -> None:
        """A child attaches: add what its new descendant matched, or what its filter would have."""
        if bitmap is None:
            bitmap = self.estimate(child.filter)
        child.sent |= self.statistics.bits_of(bitmap)

    def compute_overhead(self, bitmap: WindowBitmap) -> float | None:
        """Documents that match another peer's filter and not this peer's own subscription: the
        paper's ``compute_overhead(p, n)``. ``None`` without common statistics."""
        return self.statistics.missing(bitmap, self.statistics.own)

    def missing(self, bitmap: WindowBitmap) -> float | None:
        """Documents that match another peer's filter and are not received here yet: this peer's
        term of the path cost."""
        return self.statistics.missing(bitmap, self.received_bits())

    def missing_at(self, child: ChildLink, bitmap: WindowBitmap) -> float | None:
        """The same for a child, which receives what it is sent."""
        return self.statistics.missing(bitmap, child.sent)

    def added_by(self, child: ChildLink, bitmap: WindowBitmap) -> float | None:
        """Documents of a child that are not in another peer's bitmap: what that peer would receive
        besides, with the child below it."""
        return self.statistics.added(child.sent, bitmap)

    def max_overlap_child(
        self, interest: Interest, bitmap: WindowBitmap | None, *, without: Iterable[str] = ()
    ) -> str | None:
        """The child that incurs the least overhead by a query: the paper's ``max_overlap_node``.

        While there are no statistics, the child whose filter is the most similar. Ties are decided
        at random.
        """
        excluded = set(without)
        best: tuple[float, float] | None = None
        chosen = None
        for child in self._children.values():
            if child.name in excluded or not child.is_active or child.replacement is not None:
                continue
            missing = None if bitmap is None else self.missing_at(child, bitmap)
            if missing is None:
                missing = 1.0 - self._model.similarity(child.filter, interest)
            rank = (missing, self._random.random())
            if best is None or rank < best:
                best, chosen = rank, child.name
        return chosen

    def exclusive(self, branch: str, bitmap: WindowBitmap) -> WindowBitmap | None:
        """Documents of a descendant that this peer receives for the branch of it only, over the
        range of the descendant's bitmap."""
        statistics = self.statistics
        first = max(bitmap.first, statistics.known_first())
        last = min(bitmap.last, statistics.last)
        if bitmap.epoch != statistics.epoch or last < first:
            return None
        others = self._received_without(branch) >> (first - statistics.base)
        bits = bitmap.aligned(first, last) & ~others
        return WindowBitmap(bitmap.epoch, bitmap.first, bitmap.last, bits << (first - bitmap.first))

    # The peer's own overhead

    def received_bits(self) -> int:
        """Documents of the window that the peer receives for itself and its children."""
        return self._received_without(None)

    def _received_without(self, branch: str | None) -> int:
        bits = self.statistics.own
        for child in self._children.values():
            if child.name != branch:
                bits |= child.sent
        return bits

    def bitmap(self) -> WindowBitmap | None:
        """The documents of the window that the peer's filter matches."""
        return self.statistics.bitmap_of(self.received_bits())

    def child_bitmaps(self) -> dict[str, WindowBitmap]:
        """The documents of the window that each child receives."""
        found = {
            child.name: self.statistics.bitmap_of(child.sent)
            for child in self._children.values()
            if child.is_active and child.replacement is None
        }
        return {name: bitmap for name, bitmap in found.items() if bitmap is not None}

    def own_bitmap(self) -> WindowBitmap | None:
        """The documents of the window that the peer's own subscription matches."""
        return self.statistics.bitmap_of(self.statistics.own)

    def overhead(self) -> float:
        """The share of extraneous documents among those of the window."""
        shift = self._shift_to_window()
        received = self.received_bits() >> shift
        total = received.bit_count()
        own = self.statistics.own >> shift
        return (received & ~own).bit_count() / total if total else 0.0

    def marginal_contribution(self, child: ChildLink) -> int:
        """Documents of the window that the peer receives for this child only."""
        others = self._received_without(child.name)
        return ((child.sent & ~others) >> self._shift_to_window()).bit_count()

    def lacking_overlap(self, child: ChildLink) -> float:
        """The share of the child's documents that the peer does not subscribe to."""
        shift = self._shift_to_window()
        sent, own = child.sent >> shift, self.statistics.own >> shift
        return (sent & ~own).bit_count() / max(1, sent.bit_count())

    def children_to_move(
        self, choice: ChildChoice, count: int, due: float = float("inf")
    ) -> list[ChildLink]:
        """The children that contribute the most overhead, by the policy.

        Those that are to be asked again after ``due`` only are left out.

        Children that were asked before come later, so that one which finds no better place does not
        keep the others from being asked.
        """
        is_marginal = choice is ChildChoice.MARGINAL
        ranked = sorted(
            (
                child.asked_at,
                -self.marginal_contribution(child) if is_marginal else 0,
                -self.lacking_overlap(child),
                child.name,
            )
            for child in self._children.values()
            if child.is_active
            and child.replacement is None
            and child.ask_again_at <= due
            and self.lacking_overlap(child) > 0
        )
        return [self._children[name] for *_, name in ranked[:count]]

    def _shift_to_window(self) -> int:
        return max(0, self.statistics.known_first() - self.statistics.base)
