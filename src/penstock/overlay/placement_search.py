"""The search for a better parent: which peers to ask, and where to move."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from typing import NamedTuple

from penstock.overlay.limits import CANDIDATES_MAX
from penstock.overlay.options import Placement
from penstock.overlay.peer_messages import ChildCost, OverheadAnswer
from penstock.overlay.window_bitmap import WindowBitmap


@dataclass(frozen=True, slots=True, order=True)
class _Visit:
    """A peer to ask: where it is, and what it costs at least to move below it."""

    bound: float
    """No place at or below the peer has a smaller measure."""

    overhead: float
    """Documents that do not match the peer's own subscription: decides between equal bounds."""

    depth: int
    peer: str
    cost: float = field(compare=False)
    """Path cost, this peer included."""

    common: int = field(compare=False)
    """Index of the last ancestor in common, on the path of the searching peer."""

    displaced: str | None = field(default=None, compare=False)
    passed_on: str | None = field(default=None, compare=False)


class Place(NamedTuple):
    """A place that was found."""

    peer: str
    """The new parent."""

    displaced: str | None = None
    """The child of it whose place is taken, and which goes below the moving peer."""

    passed_on: str | None = None
    """The child of the moving peer that goes below the displaced one, if there is no room else."""


class PlacementSearch:
    """Asks the ancestors first, then searches the tree from its root.

    The paper's policy searches breadth-first and minimises the overhead of the new parent. It
    examines the children of a peer only if twice the peer's overhead is below the best one so far.
    Unlike in the paper, they are also examined if the peer has spare capacity, and a move must
    lower the overhead.

    Our policy minimises the path cost, less what the ancestors that are left no longer receive.
    The cost never decreases downwards, so a subtree is pruned exactly when it cannot be better; the
    most promising peer is asked next. Between equal costs, the overhead decides, so that peers of
    the same interest gather although no single one of them costs its old ancestors anything.
    """

    def __init__(
        self,
        *,
        number: int,
        searcher: str,
        path: tuple[str, ...],
        placement: Placement,
        probes_max: int,
        gain_min: float,
        scale: float,
        has_room: bool = False,
        children: Mapping[str, WindowBitmap] | None = None,
    ) -> None:
        self.number = number
        self._has_room = has_room
        self._children = children or {}
        self._scale = scale
        self._searcher = searcher
        self._path = path
        self._positions = {peer: index for index, peer in enumerate(path)}
        self._placement = placement
        self._probes_left = probes_max
        self._gain_min = gain_min
        self._answers: dict[str, OverheadAnswer] = {}
        self._examined: set[str] = set()
        self._to_ask: deque[str] = deque(path)
        self._asked: dict[str, _Visit | None] = {}
        self._queue: list[_Visit] = []
        self._breadth: deque[_Visit] = deque()
        self._savings: list[float] = []
        self._is_prepared = False
        self._best = 0.0
        self._overhead_max = 0.0
        self._candidates: list[_Visit] = []
        self.probes = 0
        """Peers that were asked."""

    @property
    def is_finished(self) -> bool:
        """Whether all answers that matter have arrived."""
        return not self._asked and not self._to_ask and not self._queue and not self._breadth

    def next_probes(self, outstanding_max: int) -> list[str]:
        """Peers to ask now."""
        probes: list[str] = []
        while len(self._asked) < outstanding_max:
            if not self._is_prepared:
                if not self._to_ask:
                    break
                peer, visit = self._to_ask.popleft(), None
            else:
                taken = self._take()
                if taken is None:
                    break
                if taken.peer in self._answers:
                    self._examine(taken, self._answers[taken.peer])
                    continue
                peer, visit = taken.peer, taken
            if self._probes_left == 0:
                self._queue.clear()
                self._breadth.clear()
                break
            self._probes_left -= 1
            self.probes += 1
            self._asked[peer] = visit
            probes.append(peer)
        return probes

    def take_answer(self, peer: str, answer: OverheadAnswer) -> None:
        """Take the answer of a peer; others are ignored."""
        if peer not in self._asked:
            return
        visit = self._asked.pop(peer)
        self._answers[peer] = answer
        if visit is not None:
            self._examine(visit, answer)
        elif not self._asked and not self._to_ask and not self._is_prepared:
            self._prepare()

    def improvements(self) -> list[Place]:
        """The best places that were found, the best first."""
        ranked = sorted(self._candidates)[:CANDIDATES_MAX]
        return [Place(visit.peer, visit.displaced, visit.passed_on) for visit in ranked]

    def _prepare(self) -> None:
        """All ancestors have answered: compute what the present place costs."""
        self._is_prepared = True
        if not self._path or any(peer not in self._answers for peer in self._path):
            return
        savings = [0.0] * len(self._path)
        if self._placement is Placement.PATH_COST:
            shared: int | None = None
            total = 0.0
            # Upwards from the parent: an ancestor is relieved of what all below it are. The source
            # itself receives everything anyway.
            for index in range(len(self._path) - 1, 0, -1):
                savings[index] = total
                exclusive = self._answers[self._path[index]].exclusive
                bits = 0 if exclusive is None else exclusive.bits
                shared = bits if shared is None else shared & bits
                total += shared.bit_count() * self._scale
            savings[0] = total
            self._best = 0.0
        else:
            self._best = float("inf")
        self._savings = savings
        self._overhead_max = self._answers[self._path[-1]].overhead - self._gain_min
        self._enqueue(self._path[0], 0, 0.0, 0)

    def _enqueue(self, peer: str, depth: int, cost: float, common: int) -> None:
        if self._placement is Placement.OVERHEAD:
            self._breadth.append(_Visit(0.0, 0.0, depth, peer, cost, common))
            return
        bound = cost - self._savings[common]
        if bound <= self._best:
            heappush(self._queue, _Visit(bound, 0.0, depth, peer, cost, common))

    def _take(self) -> _Visit | None:
        if self._breadth:
            return self._breadth.popleft()
        while self._queue:
            visit = heappop(self._queue)
            if visit.bound <= self._best:
                return visit
        return None

    def _examine(self, visit: _Visit, answer: OverheadAnswer) -> None:
        # Answers of different times may make a cycle, if two ancestors exchanged places meanwhile.
        if visit.peer in self._examined:
            return
        self._examined.add(visit.peer)
        is_parent = visit.peer == self._path[-1]
        if self._placement is Placement.OVERHEAD:
            # Compared with the best one so far, without this peer: else nobody below a peer that
            # has spare capacity would be examined.
            examine_children = 2 * answer.overhead < self._best
            if answer.accepts and not is_parent and answer.overhead < self._best:
                self._best = answer.overhead
                if answer.overhead <= self._overhead_max:
                    self._candidates.append(replace(visit, overhead=answer.overhead))
        else:
            is_cheaper = visit.bound <= -self._gain_min
            is_closer = answer.overhead <= self._overhead_max
            if answer.accepts and not is_parent and (is_cheaper or is_closer):
                self._best = min(self._best, visit.bound)
                self._candidates.append(replace(visit, overhead=answer.overhead))
            examine_children = True
        if not examine_children:
            return
        for child in answer.children:
            if child.peer == self._searcher:
                continue
            if self._placement is Placement.PATH_COST and not is_parent:
                self._examine_displacement(visit, answer, child)
            position = self._positions.get(child.peer)
            if position is not None:
                self._enqueue(child.peer, visit.depth + 1, 0.0, position)
            else:
                cost = visit.cost + child.missing
                self._enqueue(child.peer, visit.depth + 1, cost, visit.common)

    def _examine_displacement(
        self, visit: _Visit, answer: OverheadAnswer, child: ChildCost
    ) -> None:
        """Between a peer and its child: the searching peer receives the child's documents, too.

        If the child is an ancestor of the searching peer, the two exchange places; what the
        ancestors that are left are relieved of is the same as for any other place there. A peer
        that has no room can only exchange places with its parent, which it relieves of itself: the
        parent takes one of its children.
        """
        bound = visit.bound + child.added
        passed_on = None
        if not self._has_room:
            if child.peer != self._path[-1] or not self._children:
                return
            cost, passed_on = min(
                (self._exclusive_at_parent(bitmap), name) for name, bitmap in self._children.items()
            )
            bound += cost
        if bound <= min(self._best, -self._gain_min):
            self._best = bound
            self._candidates.append(
                replace(
                    visit,
                    bound=bound,
                    overhead=answer.overhead,
                    displaced=child.peer,
                    passed_on=passed_on,
                )
            )

    def _exclusive_at_parent(self, bitmap: WindowBitmap) -> float:
        """Documents of a child of the searching peer that its parent receives for it only."""
        exclusive = self._answers[self._path[-1]].exclusive
        if exclusive is None:
            return 0.0
        common = bitmap.bits & exclusive.aligned(bitmap.first, bitmap.last)
        return common.bit_count() * self._scale
