"""Agglomerative clustering with average linkage, where some items are never together."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence


class AverageLinkage:
    """Merges the clusters of numbered items; items of one source are never together.

    Two clusters have the mean weight of all pairs of their items; a pair that was not added has the
    weight 0.

    >>> linkage = AverageLinkage([0, 1, 1])
    >>> linkage.add(0, 1, 1.5)
    >>> linkage.add(0, 2, 2.0)
    >>> linkage.merge_all()
    >>> list(linkage.clusters())
    [[0, 2], [1]]
    """

    def __init__(self, sources: Sequence[int]) -> None:
        self._members: list[list[int]] = [[number] for number in range(len(sources))]
        self._sources = [1 << source for source in sources]
        """The sources of each cluster, as bits."""
        self._sums: list[dict[int, float]] = [{} for _ in sources]
        """For each cluster, the sum of the weights of the pairs with each other cluster."""
        self._waiting: list[tuple[float, int, int]] = []

    def add(self, one: int, other: int, weight: float) -> None:
        """Adds a pair of items of different sources."""
        self._sums[one][other] = self._sums[other][one] = weight

    def merge_all(self) -> None:
        """Merges the clusters with the largest mean weight, as long as it is at least 1."""
        for one, sums in enumerate(self._sums):
            for other in sums:
                if one < other:
                    self._push(one, other)
        while self._waiting:
            rank, one, other = heapq.heappop(self._waiting)
            # Entries of clusters that have changed since are out of date.
            if other in self._sums[one] and rank == -self._mean(one, other):
                self._merge(one, other)

    def clusters(self) -> Iterator[list[int]]:
        """The clusters, in the order of their first items."""
        return (sorted(found) for found in self._members if found)

    def _mean(self, one: int, other: int) -> float:
        pairs = len(self._members[one]) * len(self._members[other])
        return self._sums[one][other] / pairs

    def _push(self, one: int, other: int) -> None:
        mean = self._mean(one, other)
        if mean >= 1:
            heapq.heappush(self._waiting, (-mean, min(one, other), max(one, other)))

    def _merge(self, one: int, other: int) -> None:
        self._members[one] += self._members[other]
        self._members[other] = []
        self._sources[one] |= self._sources[other]
        here, there = self._sums[one], self._sums[other]
        del here[other], there[one]
        self._sums[other] = {}
        for third, total in there.items():
            del self._sums[third][other]
            here[third] = self._sums[third][one] = here.get(third, 0.0) + total
        for third in list(here):
            if self._sources[one] & self._sources[third]:
                del here[third], self._sums[third][one]
            else:
                self._push(one, third)
