"""``bench relations``: relations of pairs of queries, and containment among many subscriptions."""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from penstock import language
from penstock.lab.bench.bench_workload import SEED, Setting, draw
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import Work, once
from penstock.language import Query, generalise, parse, parse_normal
from penstock.language.relations.reference import decisions as reference

RELATIONS = ("contains", "covers", "overlaps", "generalise")
"""What is measured on pairs of queries."""

NATIVE_CALLS = 20
"""Calls in one measurement of a pair by the native core, so that the clock does not count."""

SEARCHES = 500
"""Queries whose containers are searched, and as many whose contained queries are."""


@dataclass(frozen=True, slots=True)
class PairTimes:
    """Seconds of one call on each pair."""

    native: Sequence[float]
    reference: Sequence[float]

    @property
    def speedup(self) -> float:
        """How much faster the native core decides the median pair."""
        return statistics.median(self.reference) / statistics.median(self.native)


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the benchmark."""

    pairs: int
    search: Setting


SIZE = Size(pairs=400, search=Setting(subscriptions=100_000, documents=1, repeats=5))
SIZE_QUICK = Size(pairs=10, search=Setting(subscriptions=500, documents=1, repeats=2))


def run(*, quick: bool, progress: Progress) -> Report:
    """Measure pairs of subscriptions with and without the native core, and searches of an index."""
    size = SIZE_QUICK if quick else SIZE
    progress("bench relations: generating")
    workload = draw("paths-sparse", size.search)
    pairs = _pairs(workload.queries, size.pairs)
    figures = []
    values = {}
    for name in RELATIONS:
        progress(f"bench relations: {name}")
        times = _times(
            pairs, getattr(language, name), getattr(reference, name), size.search.repeats
        )
        figures += [
            Figure(f"{name}: median pair", statistics.median(times.native) * 1e6, "µs"),
            Figure(f"{name}: slowest pair", max(times.native) * 1e6, "µs"),
            Figure(
                f"{name}: median pair of the reference",
                statistics.median(times.reference) * 1e6,
                "µs",
            ),
        ]
        values[name] = times.speedup
    progress("bench relations: building an index")
    index = workload.index()
    first = once(lambda: index.contained("/unknown"))
    figures.append(Figure("posting lists of all subscriptions", first, "s"))
    searched = _searched(workload.queries, quick=quick)
    for name in ("containers", "contained"):
        progress(f"bench relations: {name}")
        search: Callable[[Query], Sequence[str]] = getattr(index, name)
        seconds = [_search_seconds(search, query, size.search.repeats) for query in searched]
        found = statistics.mean(len(search(query)) for query in searched)
        values[name] = statistics.median(seconds) * 1e3
        figures += [
            Figure(f"{name}: found, on average", found, ""),
            Figure(f"{name}: 95th percentile", _percentile(seconds, 0.95) * 1e3, "ms"),
        ]
    return Report.on_this_machine("relations", quick=quick, figures=tuple(figures), values=values)


def _pairs(queries: Sequence[str], count: int) -> list[tuple[Query, Query]]:
    """Pairs of which every other one is a query and its generalisation with another one."""
    chooser = random.Random(SEED)
    pairs = []
    for number in range(count):
        one, two = (parse(chooser.choice(queries)) for _ in range(2))
        pairs.append((generalise(one, two), one) if number % 2 else (one, two))
    return pairs


def _times(
    pairs: Sequence[tuple[Query, Query]],
    native: Callable[[Query, Query], object],
    slow: Callable[[Query, Query], object],
    repeats: int,
) -> PairTimes:
    """Times each pair by both, one after the other; the fastest repeat of each counts."""
    seconds: list[tuple[float, float]] = []
    for p, q in pairs:
        # Both keep what they derive from a query; the first calls derive it.
        native(p, q)
        slow(p, q)
        by_native = min(_seconds(partial(_repeatedly, native, p, q)) for _ in range(repeats))
        by_reference = min(_seconds(partial(slow, p, q)) for _ in range(repeats))
        seconds.append((by_native / NATIVE_CALLS, by_reference))
    return PairTimes([each for each, _ in seconds], [each for _, each in seconds])


def _seconds(work: Work) -> float:
    """Times a call of microseconds, for which collecting garbage before each would take too long.

    The fastest of several counts, so that a collection in between does not.
    """
    begin = perf_counter()
    work()
    return perf_counter() - begin


def _repeatedly(relation: Callable[[Query, Query], object], p: Query, q: Query) -> None:
    for _ in range(NATIVE_CALLS):
        relation(p, q)


def _searched(queries: Sequence[str], *, quick: bool) -> list[Query]:
    chooser = random.Random(SEED)
    count = 10 if quick else SEARCHES
    return [parse_normal(chooser.choice(queries)) for _ in range(count)]


def _search_seconds(search: Callable[[Query], Sequence[str]], query: Query, repeats: int) -> float:
    return min(_seconds(partial(search, query)) for _ in range(repeats))


def _percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]
