"""Exponential back-off between attempts to connect."""

from __future__ import annotations

import random
from dataclasses import dataclass

from penstock.links.link_errors import link_error

__all__ = ["BackOff"]

_DOUBLINGS_MAX = 60


@dataclass(slots=True)
class BackOff:
    """Waiting times that double up to a maximum, each shortened by a random part of up to half.

    The random part keeps clients that lost the same server from returning all at once.

    >>> back_off = BackOff(random.Random(1), first_seconds=1.0, seconds_max=4.0)
    >>> [round(back_off.next_seconds(), 2) for _ in range(4)]
    [0.57, 1.85, 3.53, 2.51]
    """

    random: random.Random
    first_seconds: float = 0.1
    seconds_max: float = 30.0
    _failures: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.first_seconds <= self.seconds_max < float("inf"):
            raise link_error("link.option", "back-off needs 0 < first_seconds <= seconds_max")

    def next_seconds(self) -> float:
        """Returns how long to wait after another failure."""
        longest = min(self.first_seconds * 2.0**self._failures, self.seconds_max)
        self._failures = min(self._failures + 1, _DOUBLINGS_MAX)
        return longest * self.random.uniform(0.5, 1.0)

    def reset(self) -> None:
        """Starts again from the shortest time, after a connection that lasted."""
        self._failures = 0
