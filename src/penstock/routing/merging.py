"""Merges the patterns of a forest until they fit a bound, by least loss of precision."""

from __future__ import annotations

import heapq
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import reduce
from typing import Final

from penstock.language import KeywordQuery
from penstock.routing.limits import MERGE_CANDIDATES_MAX, MERGE_ROUND_SHARE, UNUSED_SHARE
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.pattern_generalisation import upper_bounds, weaker_patterns
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
    """A possible merge of two roots, or a weaker pattern for one; the best comes first."""

    loss: float
    """Estimated loss of precision per saved pattern node."""
    keys: tuple[str, ...]
    """Keys of the parts and of the merged pattern, for a fixed order."""
    parts: tuple[PatternNode, ...] = field(compare=False)
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
        least = bound * (UNUSED_SHARE - 1) // UNUSED_SHARE
        merged = 0
        while self._queue and merged < allowed and self._forest.size > bound:
            best = heapq.heappop(self._queue)
            if not self._is_valid(best):
                continue
            if self._forest.leaves_less(best.bound, least):
                self._too_general.append(best)
            else:
                self._forest.merge(best.parts, best.bound, best.bits)
                merged += 1
        return merged

    def _merge_too_general(self) -> bool:
        """Carries out the merge that leaves the most, if there is one."""
        valid = sorted(filter(self._is_valid, self._too_general))
        self._too_general.clear()
        if not valid:
            return False
        best = max(valid[:COMPARED_MAX], key=lambda each: self._forest.size_after(each.bound))
        self._forest.merge(best.parts, best.bound, best.bits)
        return True

    def _discard_stale(self) -> None:
        """Drops candidates whose parts are gone, once they may be most of the queue."""
        if len(self._queue) > QUEUE_SLACK + 4 * MERGE_CANDIDATES_MAX * len(self._forest.roots):
            self._queue = list(filter(self._is_valid, self._queue))
            heapq.heapify(self._queue)

    def _is_valid(self, merge: _Merge) -> bool:
        """Whether the parts are still roots."""
        roots = self._forest.roots
        return all(roots.get(part.pattern) is part for part in merge.parts)

    def _propose(self, nodes: Collection[PatternNode]) -> None:
        """Adds the merges of nodes with their neighbours, and weaker patterns, to the queue."""
        forest = self._forest
        self._discard_stale()
        pairs: dict[tuple[str, str], tuple[PatternNode, PatternNode]] = {}
        for node in nodes:
            for near in forest.neighbours.nearest(node.pattern):
                one, two = sorted((node, forest.roots[near]), key=lambda each: each.pattern.key)
                pairs[one.pattern.key, two.pattern.key] = (one, two)
        found: list[tuple[tuple[PatternNode, ...], Pattern]] = [
            ((one, two), bound)
            for one, two in pairs.values()
            for bound in upper_bounds(one.pattern, two.pattern)
            if bound.size < one.pattern.size + two.pattern.size
        ]
        found += [((node,), weaker) for node in nodes for weaker in weaker_patterns(node.pattern)]
        wanted = reduce(lambda bits, node: bits | node.member_bits, forest.roots.values(), 0)
        evaluated = self._sample.match_bits(bound for _, bound in found)
        for (parts, bound), bits in zip(found, evaluated, strict=True):
            keys = (*(part.pattern.key for part in parts), bound.key)
            loss = _loss(parts, bound, bits, wanted)
            heapq.heappush(self._queue, _Merge(loss, keys, parts, bound, bits))


def _loss(
    parts: tuple[PatternNode, ...], bound: Pattern, bits: MatchBits, wanted: MatchBits
) -> float:
    """The estimated loss of precision per saved pattern node."""
    behind = reduce(lambda joint, part: joint | part.member_bits, parts, 0)
    unwanted = (bits & ~wanted).bit_count()
    not_behind = (bits & ~behind).bit_count()
    saved = sum(part.pattern.size for part in parts) - bound.size
    given_up = sum(_strictness(part.pattern) - _strictness(bound) for part in parts)
    loss = FALSE_FORWARD_WEIGHT * unwanted + not_behind + GENERALITY_WEIGHT * max(0, given_up)
    return loss / saved


def _strictness(pattern: Pattern) -> int:
    """How much a pattern requires: nodes, and twice those with a name."""
    if isinstance(pattern.query, KeywordQuery):
        return 2 * len(pattern.query.keywords) if pattern.query.mode.value == "all" else 1
    return 2 * pattern.size - pattern.text.count("*") - pattern.text.count("//")
