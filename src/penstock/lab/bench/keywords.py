"""``bench keywords``: 100,000 keyword queries, compared with the reader and with the paper's KEMB.

Measures what delivery does: which subscriptions match a document, then detailed answers of the
subscriptions that match. The budgets are on matches; the time of detailed answers, all of them for
every matching subscription, is reported without a budget. A last case delivers all answers of a
document with very many, as rows of a table. Throughput is that of one thread. The
queries have three to six words, so that all of them fit into KEMB's automaton.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from penstock.lab.bench.bench_workload import SEED
from penstock.lab.bench.reader_baseline import reader_pass
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.bench.timing import Timing, interleaved
from penstock.lab.workload import KEYWORD_WORKLOADS, KeywordWorkload, world_facts
from penstock.matching import KeywordIndex, KeywordMatcher


@dataclass(frozen=True, slots=True)
class Setting:
    """How large the bench is."""

    queries: int
    documents: int
    passes: int
    """Passes over the documents in each repeat: a single pass is too short to time."""
    repeats: int
    answered_documents: int
    """Detailed answers are timed on the first few documents only."""
    answer_repeats: int
    kemb_documents: int
    """KEMB is timed on the first few documents only, and so is what it is compared with."""
    kemb_repeats: int
    growth_small: int
    """The smaller index of the growth budget; the larger has ``queries``."""
    cities: int
    """Answers in the document whose answers are all delivered."""


FULL = Setting(
    queries=100_000,
    documents=300,
    passes=5,
    repeats=15,
    answered_documents=20,
    answer_repeats=3,
    kemb_documents=4,
    kemb_repeats=3,
    growth_small=1_000,
    cities=3_150,
)
QUICK = Setting(
    queries=400,
    documents=8,
    passes=1,
    repeats=2,
    answered_documents=2,
    answer_repeats=2,
    kemb_documents=2,
    kemb_repeats=2,
    growth_small=4,
    cities=42,
)

SPARE_SHARE = 3
"""Ratio of drawn to used queries for growth, so that enough of them match no document."""

GROWTH_DOCUMENTS = 20

ANSWER_ALLOWANCE_SECONDS = 2e-6
"""Time that delivering an answer may take, besides a multiple of the time of matching."""


def run(*, quick: bool, progress: Progress) -> Report:
    """Measure both kinds of queries, then growth on words of documents."""
    setting = QUICK if quick else FULL
    results = BenchResults()
    for kind, name in (("words", "keywords-words"), ("paths", "keywords-paths")):
        _one_kind(kind, KEYWORD_WORKLOADS[name], setting, results, progress)
    _growth(KEYWORD_WORKLOADS["keywords-words"], setting, results, progress)
    _delivery(setting, results, progress)
    return results.report("keywords", quick=quick)


def index_of(queries: Sequence[str]) -> KeywordIndex:
    """An index of queries with ids ``q0``, ``q1``, ..."""
    index = KeywordIndex()
    errors = index.add_many([f"q{number}" for number in range(len(queries))], queries)
    assert not errors, next(iter(errors.values()))
    return index


def match_all(matcher: KeywordMatcher, documents: Sequence[bytes]) -> int:
    """Match every document; return the number of matches."""
    return sum(len(matcher.match(document)) for document in documents)


def answer_matched(matcher: KeywordMatcher, documents: Sequence[bytes]) -> int:
    """Find the detailed answers of the matching subscriptions; return their number."""
    results = (matcher.answers(document, form="ids") for document in documents)
    return sum(len(answers) for by_id in results for answers in by_id.values())


def _one_kind(
    kind: str,
    workload: KeywordWorkload,
    setting: Setting,
    results: BenchResults,
    progress: Progress,
) -> None:
    progress(f"bench keywords: {kind}, generating")
    documents = list(workload.documents(setting.documents, seed=SEED))
    index = index_of(workload.queries(setting.queries, seed=SEED))
    matcher = index.matcher()
    matches = match_all(matcher, documents)
    progress(f"bench keywords: {kind}, compared with the reader")
    passes = documents * setting.passes
    times = interleaved(
        {
            "reader": reader_pass(passes),
            "matches": partial(match_all, matcher, passes),
        },
        repeats=setting.repeats,
    )
    results.values[f"{kind}_reader"] = times["reader"].median / times["matches"].median
    size, count = sum(map(len, documents)), len(documents)
    results.figure(f"{kind}: document size", size / count / 1024, "KB")
    results.figure(f"{kind}: matches per document", matches / count, "")
    results.figure(
        f"{kind}: the reader", _throughput(size * setting.passes, times["reader"]), "MB/s"
    )
    results.figure(f"{kind}: matches", _throughput(size * setting.passes, times["matches"]), "MB/s")
    results.figure(f"{kind}: spread of the repeats", times["matches"].spread, "x")
    some = documents[: setting.answered_documents]
    repeats = setting.answer_repeats
    _detailed_answers(kind, matcher, some, repeats=repeats, results=results, progress=progress)
    some = documents[: setting.kemb_documents]
    _against_kemb(
        kind, index, some, repeats=setting.kemb_repeats, results=results, progress=progress
    )


def _detailed_answers(
    kind: str,
    matcher: KeywordMatcher,
    documents: Sequence[bytes],
    *,
    repeats: int,
    results: BenchResults,
    progress: Progress,
) -> None:
    progress(f"bench keywords: {kind}, detailed answers on {len(documents)} documents")
    answers = answer_matched(matcher, documents)
    work = {"answers": partial(answer_matched, matcher, documents)}
    times = interleaved(work, repeats=repeats)
    results.figure(f"{kind}: detailed answers per document", answers / len(documents), "")
    milliseconds = times["answers"].median / len(documents) * 1e3
    results.figure(f"{kind}: matches and all detailed answers, per document", milliseconds, "ms")


def _against_kemb(
    kind: str,
    index: KeywordIndex,
    documents: Sequence[bytes],
    *,
    repeats: int,
    results: BenchResults,
    progress: Progress,
) -> None:
    progress(f"bench keywords: {kind}, indexing for KEMB")
    ours, theirs = index.matcher(engine="postings"), index.matcher(engine="kemb", discard=True)
    progress(f"bench keywords: {kind}, compared with KEMB on {len(documents)} documents")
    assert match_all(ours, documents) == match_all(theirs, documents)
    times = interleaved(
        {
            "ours": partial(match_all, ours, documents),
            "kemb": partial(match_all, theirs, documents),
        },
        repeats=repeats,
    )
    results.values[f"{kind}_speedup"] = times["kemb"].median / times["ours"].median
    counters = theirs.engine_counters()
    results.figure(f"{kind}: documents timed with KEMB", len(documents), "")
    results.figure(f"{kind}: KEMB, per document", times["kemb"].median / len(documents) * 1e3, "ms")
    results.figure(
        f"{kind}: Penstock on the same documents, per document",
        times["ours"].median / len(documents) * 1e3,
        "ms",
    )
    results.figure(f"{kind}: states of KEMB's automaton", counters["states"], "")
    results.figure(
        f"{kind}: queries over the state limit of KEMB's automaton", counters["turned_away"], ""
    )


def _growth(
    workload: KeywordWorkload, setting: Setting, results: BenchResults, progress: Progress
) -> None:
    """The large index adds to the small one queries that match none of the documents.

    So the matches are the same, and only the number of queries grows.
    """
    progress("bench keywords: growth")
    documents = list(workload.documents(min(GROWTH_DOCUMENTS, setting.documents), seed=SEED))
    drawn = workload.queries(setting.queries * SPARE_SHARE, seed=SEED + 1)
    matcher = index_of(drawn).matcher()
    matched = {int(id_[1:]) for document in documents for id_ in matcher.match(document).ids}
    chosen = sorted(matched)
    Random(SEED).shuffle(chosen)
    queries = [drawn[number] for number in chosen[: setting.growth_small]]
    others = [query for number, query in enumerate(drawn) if number not in matched]
    assert len(queries) == setting.growth_small, "too few queries match"
    more = others[: setting.queries - len(queries)]
    assert len(queries) + len(more) == setting.queries, "too many queries match"
    small, large = index_of(queries).matcher(), index_of(queries + more).matcher()
    matches = match_all(small, documents)
    assert matches == match_all(large, documents)
    # As many as of the others.
    often = documents * (setting.documents * setting.passes // len(documents))
    times = interleaved(
        {
            "small": partial(match_all, small, often),
            "large": partial(match_all, large, often),
        },
        repeats=setting.repeats,
    )
    results.values["growth"] = times["large"].median / times["small"].median
    results.figure("growth: matches per document", matches / len(documents), "")


def deliver_all(matcher: KeywordMatcher, document: bytes) -> int:
    """Match a document and write all answers as rows of deliveries; return their number."""
    # Imported here because it needs the extra `spark`, unlike the rest of this benchmark.
    from penstock.pipeline.fragment_rows import FragmentRows  # noqa: PLC0415

    ids = matcher.match(document).ids
    rows = FragmentRows()
    for number, fragments in enumerate(matcher.select(document, ids).values()):
        rows.add(number, fragments, len(fragments))
    array: Any = rows.array(len(ids))
    return len(array.values)


def _delivery(setting: Setting, results: BenchResults, progress: Progress) -> None:
    """All answers of one document with very many, compared with matching it."""
    progress("bench keywords: delivery of all answers of one document")
    document = world_facts(setting.cities, seed=SEED).encode()
    matcher = index_of(["city population"]).matcher()
    answers = deliver_all(matcher, document)
    assert answers >= setting.cities
    ids = matcher.match(document).ids
    times = interleaved(
        {
            "match": partial(match_all, matcher, [document]),
            "deliver": partial(deliver_all, matcher, document),
            "objects": partial(_fragment_objects, matcher, document, ids),
            "answers": partial(matcher.answers, document, ids),
        },
        repeats=setting.repeats,
    )
    allowance = answers * ANSWER_ALLOWANCE_SECONDS
    rest = max(0.0, times["deliver"].median - allowance)
    results.values["delivery"] = rest / times["match"].median
    results.figure("delivery: document size", len(document) / 1024, "KB")
    results.figure("delivery: answers", answers, "")
    results.figure("delivery: match", times["match"].median * 1e3, "ms")
    results.figure("delivery: match and all rows", times["deliver"].median * 1e3, "ms")
    results.figure("delivery: all `Fragment` objects", times["objects"].median * 1e3, "ms")
    results.figure("delivery: all detailed answers", times["answers"].median * 1e3, "ms")


def _fragment_objects(matcher: KeywordMatcher, document: bytes, ids: Sequence[str]) -> int:
    return sum(len(tuple(found)) for found in matcher.select(document, ids).values())


def _throughput(size: int, timing: Timing) -> float:
    return size / timing.median / 1e6
