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
from pathlib import Path
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


def resident_bytes() -> int:
    """What the process itself holds in memory now; 0 where the system does not tell.

    Mapped files do not count: they are the system's cache, and it takes them back when it must.
    """
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


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
