"""How time and memory are measured: interleaved repeats, medians, the process's own size.

A budget is a ratio within one run on one machine. What is compared is measured in turn, again and
again, so that a machine that slows down slows both sides down; of each side the median counts.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

Work = Callable[[], object]
"""Something to be timed; what it returns is dropped."""

Clock = Callable[[], float]
"""Seconds: ``perf_counter`` of the world, ``process_time`` that this process was at work."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The repeats of one side."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one: neither a lucky repeat nor a disturbed one moves it."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest over fastest: how far this run is to be trusted."""
        return max(self.seconds) / min(self.seconds)


def once(work: Work, *, clock: Clock = perf_counter) -> float:
    """Seconds that one run takes."""
    with _no_garbage_collection():
        begin = clock()
        work()
        return clock() - begin


def interleaved(
    sides: Mapping[str, Work], *, repeats: int, clock: Clock = perf_counter
) -> dict[str, Timing]:
    """Times each side ``repeats`` times, in turn; each round begins with another side."""
    assert sides
    assert repeats >= 1
    names = list(sides)
    seconds: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(repeats):
        begin = turn % len(names)
        for name in names[begin:] + names[:begin]:
            seconds[name].append(once(sides[name], clock=clock))
    return {name: Timing(tuple(times)) for name, times in seconds.items()}


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Python's collector would charge one side for the other's garbage."""
    gc.collect()
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
