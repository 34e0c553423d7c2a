"""``bench paths``: a million XPath subscriptions, compared with the reader and with YFilter.

Every part builds an index and saves it. A cold start loads it again: a loaded index has no
automaton yet. Throughput is that of one thread through ``Matcher.match``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.documents import Limits
from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.matching_memory import matching_memory
from penstock.lab.bench.reader_baseline import reader_pass
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.bench.timing import Work, interleaved, once
from penstock.matching import Matcher, SubscriptionIndex

GROWTH_SMALL = 1_000
"""Subscriptions of the smaller index of the growth budget; the larger is the sparse one."""

YFILTER_DOCUMENTS_SHARE = 20
"""The YFilter-like engine is timed on 1/20 of the documents because it is much slower."""

WITHOUT_WORK_BUDGET = Limits(work=1_000_000_000)
"""Limits of a baseline, which must find every match however long it takes."""

EXTRA_SUBSCRIBERS = 4
"""Extra subscribers of each query when the cost of reporting a match is measured."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The size of each part."""

    sparse: Setting
    dense: Setting
    hard: Setting
    deep: Setting
    cold_starts: int
    warm_passes: int
    """Passes over the documents in each repeat: a single pass is too short to time."""


FULL = Settings(
    sparse=Setting(subscriptions=1_000_000, documents=1_000, repeats=15),
    dense=Setting(subscriptions=150_000, documents=200, repeats=7),
    hard=Setting(subscriptions=1_000_000, documents=200, repeats=3),
    deep=Setting(subscriptions=1_000_000, documents=200, repeats=3),
    cold_starts=3,
    warm_passes=5,
)
QUICK = Settings(
    sparse=Setting(subscriptions=2_000, documents=10, repeats=2),
    dense=Setting(subscriptions=1_000, documents=5, repeats=2),
    hard=Setting(subscriptions=1_000, documents=5, repeats=2),
    deep=Setting(subscriptions=1_000, documents=5, repeats=2),
    cold_starts=2,
    warm_passes=1,
)


def run(*, quick: bool, progress: Progress) -> Report:
    """Run all parts."""
    settings = QUICK if quick else FULL
    results = BenchResults()
    progress("bench paths: sparse, generating")
    workload = draw("paths-sparse", settings.sparse)
    _sparse(workload, settings, results, progress)
    _growth(workload, settings.sparse, results, progress)
    progress("bench paths: dense, generating")
    _dense(draw("paths-dense", settings.dense), settings.dense, results, progress)
    for name, workload_name, setting in (
        ("hard", "paths-hard", settings.hard),
        ("deep", "treebank", settings.deep),
    ):
        progress(f"bench paths: {name}, generating")
        _against_yfilter(name, draw(workload_name, setting), setting, results, progress)
    return results.report("paths", quick=quick)


def match_all(matcher: Matcher, documents: Sequence[bytes]) -> int:
    """Match every document; return the number of matches."""
    return sum(len(matcher.match(document)) for document in documents)


def match_for_ids(matcher: Matcher, documents: Sequence[bytes]) -> int:
    """Match every document and resolve the ids; return the number of matches."""
    return sum(len(matcher.match(document).ids) for document in documents)


@contextmanager
def saved(workload: BenchWorkload, progress: Progress, what: str) -> Iterator[Path]:
    """The index of the workload as a file."""
    progress(f"bench paths: {what}, building the index")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "subscriptions.index"
        workload.index().save(path)
        yield path


def _sparse(
    workload: BenchWorkload, settings: Settings, results: BenchResults, progress: Progress
) -> None:
    documents = workload.documents
    size = sum(map(len, documents))
    warm_size = size * settings.warm_passes
    with saved(workload, progress, "sparse") as path:
        ratios = []
        for turn in range(settings.cold_starts):
            progress(f"bench paths: sparse, cold, {turn + 1} of {settings.cold_starts}")
            matcher = SubscriptionIndex.load(path).matcher()
            reading = once(reader_pass(documents))
            cold = once(partial(match_all, matcher, documents))
            ratios.append(reading / cold)
        progress("bench paths: sparse, warm")
        matches = match_all(matcher, documents)
        passes = list(documents) * settings.warm_passes
        times = interleaved(
            {"reader": reader_pass(passes), "matcher": partial(match_all, matcher, passes)},
            repeats=settings.sparse.repeats,
        )
    results.values["sparse_cold"] = sorted(ratios)[len(ratios) // 2]
    results.values["sparse_warm"] = times["reader"].median / times["matcher"].median
    results.figure("sparse: document size", size / len(documents) / 1024, "KB")
    results.figure("sparse: matches per document", matches / len(documents), "")
    results.figure("sparse: the reader", warm_size / times["reader"].median / 1e6, "MB/s")
    results.figure("sparse: the matcher, warm", warm_size / times["matcher"].median / 1e6, "MB/s")
    results.figure("sparse: spread of the repeats", times["matcher"].spread, "x")


def _growth(
    workload: BenchWorkload, setting: Setting, results: BenchResults, progress: Progress
) -> None:
    """The small index has all subscriptions that match, so both have the same matches."""
    progress("bench paths: growth")
    large = workload.index().matcher()
    found_in = {document: frozenset(large.match(document).ids) for document in workload.documents}
    documents: list[bytes] = []
    matched: frozenset[str] = frozenset()
    for document in sorted(found_in, key=lambda each: len(found_in[each])):
        if len(matched | found_in[document]) <= GROWTH_SMALL:
            matched |= found_in[document]
            documents.append(document)
    assert documents, "a single document has more matches than the small index has subscriptions"
    small = workload.reduced_to(matched, GROWTH_SMALL).index().matcher()
    assert match_all(small, documents) == match_all(large, documents)
    # A pass over few documents is too short to time, so each repeat makes several.
    rounds = max(1, setting.documents // len(documents))
    times = interleaved(
        {
            "small": lambda: [match_all(small, documents) for _ in range(rounds)],
            "large": lambda: [match_all(large, documents) for _ in range(rounds)],
        },
        repeats=setting.repeats,
    )
    results.values["growth"] = times["large"].median / times["small"].median
    results.figure("growth: documents", len(documents), "")
    matches = match_all(large, documents)
    results.figure("growth: matches per document", matches / len(documents), "")


def _dense(
    workload: BenchWorkload, setting: Setting, results: BenchResults, progress: Progress
) -> None:
    """Measure what a match costs: to report it, to report its id, and in all.

    An index in which each query has several subscribers isolates the cost of reporting a match,
    which has the budget (decision 0056): the same queries match, but more subscriptions are
    reported. An index in which nothing can match isolates the cost of handling the reader's events.
    """
    documents = workload.documents
    index = workload.index()
    crowded = workload.index()
    for turn in range(EXTRA_SUBSCRIBERS):
        crowded.add_many([f"{id_}-{turn}" for id_ in workload.ids], workload.queries)
    idle = SubscriptionIndex()
    idle.add("none", "/no-such-root")
    matchers = {"once": index.matcher(), "crowded": crowded.matcher(), "idle": idle.matcher()}
    progress("bench paths: dense, warm")
    counts = {side: match_all(matcher, documents) for side, matcher in matchers.items()}
    matches = counts["once"]
    assert counts == {"once": matches, "crowded": (1 + EXTRA_SUBSCRIBERS) * matches, "idle": 0}
    assert match_for_ids(matchers["once"], documents) == matches
    sides: dict[str, Work] = {
        "reader": reader_pass(documents),
        "ids": partial(match_for_ids, matchers["once"], documents),
    }
    for side, matcher in matchers.items():
        sides[side] = partial(match_all, matcher, documents)
    times = interleaved(sides, repeats=setting.repeats)
    reader, ids, single, several, idle_seconds = (
        times[side].median for side in ("reader", "ids", "once", "crowded", "idle")
    )
    results.values["dense_match"] = (several - single) / (EXTRA_SUBSCRIBERS * matches) * 1e9
    results.values["dense_ids"] = (ids - single) / matches * 1e9
    progress("bench paths: dense, the YFilter-like engine")
    results.values["dense_speedup"] = _speedup(index, documents, setting.repeats)
    results.figure("dense: matches per document", matches / len(documents), "")
    results.figure("dense: share of the reader's throughput", reader / single, "x")
    results.figure(
        "dense: all time on top of reading, per match", (single - reader) / matches * 1e9, "ns"
    )
    results.figure(
        "dense: event handling where nothing matches, per match of the other index",
        (idle_seconds - reader) / matches * 1e9,
        "ns",
    )


def _against_yfilter(
    name: str, workload: BenchWorkload, setting: Setting, results: BenchResults, progress: Progress
) -> None:
    documents = workload.documents
    with saved(workload, progress, name) as path:
        progress(f"bench paths: {name}, memory")
        results.values[f"{name}_memory"] = matching_memory(path, documents) / 1e6
        index = SubscriptionIndex.load(path)
        progress(f"bench paths: {name}, compared with the YFilter-like engine")
        results.values[f"{name}_speedup"] = _speedup(index, documents, setting.repeats)
        matcher = index.matcher()
        times = interleaved(
            {
                "reader": reader_pass(documents),
                "matcher": partial(match_all, matcher, documents),
            },
            repeats=setting.repeats,
        )
    matches = match_all(matcher, documents)
    results.figure(f"{name}: matches per document", matches / len(documents), "")
    results.figure(
        f"{name}: share of the reader's throughput",
        times["reader"].median / times["matcher"].median,
        "x",
    )


def _speedup(index: SubscriptionIndex, documents: Sequence[bytes], repeats: int) -> float:
    """The speedup of the default engine over the YFilter-like engine, both warm.

    Ours keeps its work budget, as users have it, and must set nothing aside. The slower engine has
    none: it would leave out matches, and the comparison would favour it.
    """
    some = documents[: max(1, len(documents) // YFILTER_DOCUMENTS_SHARE)]
    ours = index.matcher(engine="shared")
    theirs = index.matcher(engine="yfilter", limits=WITHOUT_WORK_BUDGET)
    for document in some:
        matches, expected = ours.match(document), theirs.match(document)
        assert not matches.set_aside, "the work budget sets subscriptions of the workload aside"
        assert set(matches.ids) == set(expected.ids), "the engines differ"
    times = interleaved(
        {"ours": partial(match_all, ours, some), "theirs": partial(match_all, theirs, some)},
        repeats=repeats,
    )
    return times["theirs"].median / times["ours"].median
