"""Times alternatives by interleaved repeats and their medians.

A budget is a ratio within one run on one machine. The alternatives alternate, so that a machine
that slows down affects all of them, and the median of each counts.
"""

from __future__ import annotations

import gc
import statistics
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

Work = Callable[[], object]
"""A function to time; its result is ignored."""

Clock = Callable[[], float]
"""Returns seconds: ``perf_counter`` for elapsed time, ``process_time`` for CPU time."""


@dataclass(frozen=True, slots=True)
class Timing:
    """The repeats of one alternative."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median, which ignores a single fast or disturbed repeat."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Slowest divided by fastest repeat: a measure of noise."""
        return max(self.seconds) / min(self.seconds)


def once(work: Work, *, clock: Clock = perf_counter) -> float:
    """Time one call, in seconds."""
    with _no_garbage_collection():
        begin = clock()
        work()
        return clock() - begin


def interleaved(
    sides: Mapping[str, Work], *, repeats: int, clock: Clock = perf_counter
) -> dict[str, Timing]:
    """Time each alternative ``repeats`` times, in rounds that begin with a different one."""
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
    """Disable the collector, which would charge one alternative for the garbage of another.

    The garbage of the last alternative is young, since the collector was disabled: the objects of
    the rest of the process need not be traversed.
    """
    gc.collect(1)
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
