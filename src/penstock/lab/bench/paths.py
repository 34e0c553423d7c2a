"""``bench paths``: XPath subscriptions by the million, against the reader and against YFilter.

Every part builds an index, saves it, and loads it anew where a cold start is wanted: a loaded index
has no automaton yet. Throughput is that of one thread through ``Matcher.match``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.process_memory import matching_memory
from penstock.lab.bench.reader_baseline import reading_of
from penstock.lab.bench.report import Found, Report, Tell
from penstock.lab.bench.timing import interleaved, once
from penstock.matching import Matcher, SubscriptionIndex

GROWTH_SMALL = 1_000
"""The smaller index of the growth budget; the larger is the sparse one."""

YFILTER_DOCUMENTS_SHARE = 20
"""The baseline is timed on this fraction of the documents: it is that much slower."""

EXTRA_SUBSCRIBERS = 4
"""So many more subscribers has each query where the cost of telling is measured."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How large each part is."""

    sparse: Setting
    dense: Setting
    hard: Setting
    deep: Setting
    cold_starts: int
    warm_passes: int
    """A pass over the documents is over in no time: each repeat makes so many."""


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


def run(*, quick: bool, tell: Tell) -> Report:
    """All parts, one after the other."""
    settings = QUICK if quick else FULL
    found = Found()
    tell("bench paths: sparse, generating")
    subject = draw("paths-sparse", settings.sparse)
    _sparse(subject, settings, found, tell)
    _growth(subject, settings.sparse, found, tell)
    tell("bench paths: dense, generating")
    _dense(draw("paths-dense", settings.dense), settings.dense, found, tell)
    for name, workload, setting in (
        ("hard", "paths-hard", settings.hard),
        ("deep", "treebank", settings.deep),
    ):
        tell(f"bench paths: {name}, generating")
        _against_yfilter(name, draw(workload, setting), setting, found, tell)
    return found.report("paths", quick=quick)


def match_all(matcher: Matcher, documents: Sequence[bytes]) -> int:
    """Matches every document; gives the number of matches."""
    return sum(len(matcher.match(document)) for document in documents)


@contextmanager
def saved(subject: BenchWorkload, tell: Tell, what: str) -> Iterator[Path]:
    """The subject's index as a file."""
    tell(f"bench paths: {what}, building the index")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "subscriptions.index"
        subject.index().save(path)
        yield path


def _sparse(subject: BenchWorkload, settings: Settings, found: Found, tell: Tell) -> None:
    documents = subject.documents
    size = sum(map(len, documents))
    warm_size = size * settings.warm_passes
    with saved(subject, tell, "sparse") as path:
        ratios = []
        for turn in range(settings.cold_starts):
            tell(f"bench paths: sparse, cold, {turn + 1} of {settings.cold_starts}")
            matcher = SubscriptionIndex.load(path).matcher()
            reading = once(reading_of(documents))
            cold = once(partial(match_all, matcher, documents))
            ratios.append(reading / cold)
        tell("bench paths: sparse, warm")
        matches = match_all(matcher, documents)
        passes = list(documents) * settings.warm_passes
        times = interleaved(
            {"reader": reading_of(passes), "matcher": partial(match_all, matcher, passes)},
            repeats=settings.sparse.repeats,
        )
    found.values["sparse_cold"] = sorted(ratios)[len(ratios) // 2]
    found.values["sparse_warm"] = times["reader"].median / times["matcher"].median
    found.figure("sparse: size of a document", size / len(documents) / 1024, "KB")
    found.figure("sparse: matches a document", matches / len(documents), "")
    found.figure("sparse: the reader", warm_size / times["reader"].median / 1e6, "MB/s")
    found.figure("sparse: the matcher, warm", warm_size / times["matcher"].median / 1e6, "MB/s")
    found.figure("sparse: spread of the repeats", times["matcher"].spread, "x")


def _growth(subject: BenchWorkload, setting: Setting, found: Found, tell: Tell) -> None:
    """The small index holds whatever matches in the large one: the matches are the same."""
    tell("bench paths: growth")
    large = subject.index().matcher()
    found_in = {document: frozenset(large.match(document).ids) for document in subject.documents}
    documents: list[bytes] = []
    matched: frozenset[str] = frozenset()
    for document in sorted(found_in, key=lambda each: len(found_in[each])):
        if len(matched | found_in[document]) <= GROWTH_SMALL:
            matched |= found_in[document]
            documents.append(document)
    assert documents, "one document alone matches more than the small index may hold"
    small = subject.reduced_to(matched, GROWTH_SMALL).index().matcher()
    assert match_all(small, documents) == match_all(large, documents)
    # A few documents are over in no time: each repeat goes over them often.
    rounds = max(1, setting.documents // len(documents))
    times = interleaved(
        {
            "small": lambda: [match_all(small, documents) for _ in range(rounds)],
            "large": lambda: [match_all(large, documents) for _ in range(rounds)],
        },
        repeats=setting.repeats,
    )
    found.values["growth"] = times["large"].median / times["small"].median
    found.figure("growth: documents", len(documents), "")
    matches = match_all(large, documents)
    found.figure("growth: matches a document", matches / len(documents), "")


def _dense(subject: BenchWorkload, setting: Setting, found: Found, tell: Tell) -> None:
    """What a match adds: all the time on top of reading, over the matches.

    What telling a match costs, finding it left out, shows where each query has more subscribers:
    what is found is the same, and told more often. What is left where nothing can match is the
    price of hearing the document at all.
    """
    documents = subject.documents
    index = subject.index()
    crowded = subject.index()
    for turn in range(EXTRA_SUBSCRIBERS):
        crowded.add_many([f"{id_}-{turn}" for id_ in subject.ids], subject.queries)
    idle = SubscriptionIndex()
    idle.add("none", "/no-such-root")
    matchers = {"once": index.matcher(), "crowded": crowded.matcher(), "idle": idle.matcher()}
    tell("bench paths: dense, warm")
    counts = {side: match_all(matcher, documents) for side, matcher in matchers.items()}
    matches = counts["once"]
    assert counts == {"once": matches, "crowded": (1 + EXTRA_SUBSCRIBERS) * matches, "idle": 0}
    times = interleaved(
        {"reader": reading_of(documents)}
        | {side: partial(match_all, matcher, documents) for side, matcher in matchers.items()},
        repeats=setting.repeats,
    )
    reader, once_told, told_again, hearing = (
        times[side].median for side in ("reader", "once", "crowded", "idle")
    )
    found.values["dense_match"] = (once_told - reader) / matches * 1e9
    tell("bench paths: dense, the YFilter-like engine")
    found.values["dense_speedup"] = _speedup(index, documents, setting.repeats)
    found.figure("dense: matches a document", matches / len(documents), "")
    found.figure("dense: share of the reader's throughput", reader / once_told, "x")
    found.figure(
        "dense: telling a match that was found",
        (told_again - once_told) / (EXTRA_SUBSCRIBERS * matches) * 1e9,
        "ns",
    )
    found.figure(
        "dense: hearing a document of which nothing matches, over the same matches",
        (hearing - reader) / matches * 1e9,
        "ns",
    )


def _against_yfilter(
    name: str, subject: BenchWorkload, setting: Setting, found: Found, tell: Tell
) -> None:
    documents = subject.documents
    with saved(subject, tell, name) as path:
        tell(f"bench paths: {name}, memory")
        found.values[f"{name}_memory"] = matching_memory(path, documents) / 1e6
        index = SubscriptionIndex.load(path)
        tell(f"bench paths: {name}, against the YFilter-like engine")
        found.values[f"{name}_speedup"] = _speedup(index, documents, setting.repeats)
        matcher = index.matcher()
        times = interleaved(
            {
                "reader": reading_of(documents),
                "matcher": partial(match_all, matcher, documents),
            },
            repeats=setting.repeats,
        )
    matches = match_all(matcher, documents)
    found.figure(f"{name}: matches a document", matches / len(documents), "")
    found.figure(
        f"{name}: share of the reader's throughput",
        times["reader"].median / times["matcher"].median,
        "x",
    )


def _speedup(index: SubscriptionIndex, documents: Sequence[bytes], repeats: int) -> float:
    """How many times faster the default engine is than the baseline, both warm."""
    some = documents[: max(1, len(documents) // YFILTER_DOCUMENTS_SHARE)]
    ours, theirs = index.matcher(engine="shared"), index.matcher(engine="yfilter")
    assert match_all(ours, some) == match_all(theirs, some)
    times = interleaved(
        {"ours": partial(match_all, ours, some), "theirs": partial(match_all, theirs, some)},
        repeats=repeats,
    )
    return times["theirs"].median / times["ours"].median
