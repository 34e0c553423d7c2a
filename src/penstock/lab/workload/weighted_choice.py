"""Weighted random choices that use only ``Random.random``.

Of all methods of ``Random``, Python guarantees only for ``random`` that a seed produces the same
numbers in every version. All generators use only that method, so a seed means the same workload
everywhere.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")

Rnd = Callable[[], float]
"""``random.Random(seed).random``"""


def zipf_weights(count: int, skew: float) -> list[float]:
    """The weights of ranks 1 to ``count``: ``1 / rank ** skew``."""
    return [1.0 / rank**skew for rank in range(1, count + 1)]


class WeightedChoice(Generic[T]):
    """Chooses among items by weight."""

    __slots__ = ("_cumulative", "_last", "_total", "items")

    def __init__(self, items: Sequence[T], weights: Sequence[float]) -> None:
        self.items = tuple(items)
        self._cumulative = list(accumulate(weights))
        self._total = self._cumulative[-1]
        self._last = len(self.items) - 1

    def __call__(self, rnd: Rnd) -> T:
        """Choose an item."""
        return self.items[bisect_right(self._cumulative, rnd() * self._total, 0, self._last)]


def geometric(mean: float, rnd: Rnd) -> int:
    """A geometrically distributed count of 0, 1, 2, ... with this mean."""
    again = mean / (1.0 + mean)
    count = 0
    while rnd() < again:
        count += 1
    return count
