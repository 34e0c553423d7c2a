"""Merges the patterns of a forest until they fit a bound, by least loss of precision."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from penstock.language import KeywordQuery
from penstock.routing.limits import MERGE_CANDIDATES_MAX, MERGE_ROUND_SHARE, UNUSED_SHARE
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.pattern_generalisation import upper_bounds
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.synopsis import MatchBits, SampledDocuments

FALSE_FORWARD_WEIGHT: Final = 16.0
"""Loss of a sampled document that matches a merge and no member at all, in units of one that
matches only members elsewhere. The latter is forwarded anyway, but says less."""

GENERALITY_WEIGHT: Final = 1 / 16
"""Loss of a node that a merge no longer requires of its parts, in the same units: decides between
merges that no sampled document distinguishes."""

COMPARED_MAX: Final = 64
"""Merges that are compared by what they leave if all are too general."""

QUEUE_SLACK: Final = 1_000
"""Candidates that are kept in the queue although their parts may be gone."""


@dataclass(frozen=True, slots=True, order=True)
class _Merge:
    """A possible merge of two roots; the best comes first."""

    loss: float
    """Estimated loss of precision per saved pattern node."""
    keys: tuple[str, str, str]
    """Keys of the parts and of the merged pattern, for a fixed order."""
    one: PatternNode = field(compare=False)
    two: PatternNode = field(compare=False)
    bound: Pattern = field(compare=False)
    bits: MatchBits = field(compare=False)


class Merger:
    """Chooses and carries out merges of a forest's roots.

    Candidates are pairs of near neighbours, in a priority queue. A candidate whose parts are no
    longer roots is skipped when it is taken from the queue.
    """

    def __init__(self, forest: MergeForest, sample: SampledDocuments) -> None:
        self._forest = forest
        self._sample = sample
        self._queue: list[_Merge] = []
        self._too_general: list[_Merge] = []
        """Merges that would leave much of the bound unused."""

    def reduce(self, bound: int, *, last_resort: bool = True) -> None:
        """Merge until the roots have at most ``bound`` pattern nodes.

        If no neighbours can be merged any more, the last resort is ``/*``.
        """
        forest = self._forest
        self._too_general.clear()
        is_complete = False
        while forest.size > bound:
            fresh = list(forest.fresh)
            forest.fresh.clear()
            self._propose(fresh)
            if self._merge_best(bound):
                is_complete = False
            elif not is_complete:
                # Neighbours may have gone since candidates were considered.
                forest.fresh.update(dict.fromkeys(forest.roots.values()))
                is_complete = True
            elif not last_resort:
                break
            elif self._merge_too_general():
                is_complete = False
            else:
                bits = (1 << len(self._sample)) - 1
                forest.merge(list(forest.roots.values()), UNIVERSAL, bits)

    def _merge_best(self, bound: int) -> int:
        """Carries out the best merges of a round; returns their number."""
        allowed = 1 + len(self._forest.roots) // MERGE_ROUND_SHARE
        least = bound - bound // UNUSED_SHARE
        merged = 0
        while self._queue and merged < allowed and self._forest.size > bound:
            best = heapq.heappop(self._queue)
            if not (self._is_root(best.one) and self._is_root(best.two)):
                continue
            if self._forest.leaves_less(best.bound, least):
                self._too_general.append(best)
            else:
                self._forest.merge((best.one, best.two), best.bound, best.bits)
                merged += 1
        return merged

    def _merge_too_general(self) -> bool:
        """Carries out the merge that leaves the most, if there is one."""
        valid = [
            each
            for each in sorted(self._too_general)
            if self._is_root(each.one) and self._is_root(each.two)
        ]
        self._too_general.clear()
        if not valid:
            return False
        best = max(valid[:COMPARED_MAX], key=lambda each: self._forest.size_after(each.bound))
        self._forest.merge((best.one, best.two), best.bound, best.bits)
        return True

    def _discard_stale(self) -> None:
        """Drops candidates whose parts are gone, once they may be most of the queue."""
        if len(self._queue) > QUEUE_SLACK + 4 * MERGE_CANDIDATES_MAX * len(self._forest.roots):
            self._queue = [
                each for each in self._queue if self._is_root(each.one) and self._is_root(each.two)
            ]
            heapq.heapify(self._queue)

    def _is_root(self, node: PatternNode) -> bool:
        return self._forest.roots.get(node.pattern) is node

    def _propose(self, nodes: Iterable[PatternNode]) -> None:
        """Adds the merges of nodes with their neighbours to the queue."""
        forest = self._forest
        self._discard_stale()
        pairs: dict[tuple[str, str], tuple[PatternNode, PatternNode]] = {}
        for node in nodes:
            for near in forest.neighbours.nearest(node.pattern):
                one, two = sorted((node, forest.roots[near]), key=lambda each: each.pattern.key)
                pairs[one.pattern.key, two.pattern.key] = (one, two)
        found = [
            (one, two, bound)
            for one, two in pairs.values()
            for bound in upper_bounds(one.pattern, two.pattern)
            if bound.size < one.pattern.size + two.pattern.size
        ]
        wanted = reduce(lambda bits, node: bits | node.member_bits, forest.roots.values(), 0)
        evaluated = self._sample.match_bits(bound for _, _, bound in found)
        for (one, two, bound), bits in zip(found, evaluated, strict=True):
            keys = (one.pattern.key, two.pattern.key, bound.key)
            loss = _loss(one, two, bound, bits, wanted)
            heapq.heappush(self._queue, _Merge(loss, keys, one, two, bound, bits))


def _loss(
    one: PatternNode, two: PatternNode, bound: Pattern, bits: MatchBits, wanted: MatchBits
) -> float:
    """The estimated loss of precision per saved pattern node."""
    unwanted = (bits & ~wanted).bit_count()
    not_behind = (bits & ~(one.member_bits | two.member_bits)).bit_count()
    saved = one.pattern.size + two.pattern.size - bound.size
    given_up = _strictness(one.pattern) + _strictness(two.pattern) - 2 * _strictness(bound)
    loss = FALSE_FORWARD_WEIGHT * unwanted + not_behind + GENERALITY_WEIGHT * max(0, given_up)
    return loss / saved


def _strictness(pattern: Pattern) -> int:
    """How much a pattern requires: nodes, and twice those with a name."""
    if isinstance(pattern.query, KeywordQuery):
        return 2 * len(pattern.query.keywords) if pattern.query.mode.value == "all" else 1
    return 2 * pattern.size - pattern.text.count("*") - pattern.text.count("//")
