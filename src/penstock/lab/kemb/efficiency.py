"""Figures 11 to 16: the time of indexing and matching, and the elements that KEMB discards.

Every engine reports which of its queries match a document. For KEMB that is nearly the work of
finding all answers: it only skips queries that have an answer already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from penstock.lab.bench.keywords import index_of, match_all
from penstock.lab.bench.reader_baseline import reader_pass
from penstock.lab.bench.report import Progress
from penstock.lab.bench.timing import Work, interleaved
from penstock.lab.experiment_tables import Cell, Chart, ResultTable
from penstock.lab.kemb.data_sets import DATA_SETS, draw_by_words, draw_names, draw_pairs
from penstock.lab.kemb.scale import Scale
from penstock.lab.workload import PathAndKeywords
from penstock.matching import KeywordMatcher, Matcher, SubscriptionIndex

KEMB, KEMB_KEEPING, YFILTER, OURS, READER = (
    "KEMB",
    "KEMB without discarding",
    "YFilter-like",
    "Penstock",
    "reader alone",
)
INDEXED = (KEMB, KEMB_KEEPING, YFILTER, OURS)
TIMED = (*INDEXED, READER)

TINY = b"<x/>"
"""A document that triggers lazy initialisation, which counts as indexing."""

HOW_INDEXED = (
    "From the query texts to the first document. For KEMB this includes the automaton, the"
    " coverage rules and the coverage graph."
)
HOW_TIMED = (
    "Milliseconds per document, including reading. KEMB and Penstock find which of the keyword"
    " queries match, the YFilter-like engine which of the XPath queries."
)
HOW_DISCARDED = "Per document; elements without a keyword of any query do not count."


@dataclass(frozen=True, slots=True)
class Built:
    """The engines with the same queries, and the seconds that each took to index them."""

    kemb: KeywordMatcher
    sides: dict[str, Callable[[Sequence[bytes]], Work]]
    seconds: dict[str, float]


def by_count(scale: Scale, progress: Progress) -> list[ResultTable]:
    """Reproduce Figures 11, 12 and 13, by number of queries."""
    index_rows: list[tuple[Cell, ...]] = []
    time_rows: list[tuple[Cell, ...]] = []
    discard_rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        progress(f"lab kemb: {data.name}, generating queries")
        pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
        documents = data.draw_documents(scale.document_bytes, scale.documents)
        for count in scale.query_counts:
            progress(f"lab kemb: {data.name}, {count:,} queries")
            built = _build(pairs[:count])
            counters = built.kemb.engine_counters()
            index_rows.append(
                (
                    data.name,
                    count,
                    *(built.seconds[name] for name in INDEXED),
                    counters["states"],
                    counters["turned_away"],
                )
            )
            time_rows.append((data.name, count, *_time_matching(built, documents, scale.repeats)))
            discard_rows.append((data.name, count, *_discarded(built.kemb, documents)))
    return [
        ResultTable(
            "fig11",
            "Fig. 11: seconds to index, by number of queries",
            ("data", "queries", *INDEXED, "KEMB states", "over limit"),
            tuple(index_rows),
            (
                HOW_INDEXED,
                "Over limit: queries beyond the automaton's state limit, each with its own stack.",
            ),
            Chart("data", "queries", INDEXED, "seconds", logarithmic=True),
        ),
        ResultTable(
            "fig12",
            "Fig. 12: milliseconds per document, by number of queries",
            ("data", "queries", *TIMED),
            tuple(time_rows),
            (HOW_TIMED,),
            Chart("data", "queries", TIMED, "ms per document", logarithmic=True),
        ),
        _discards("fig13", "Fig. 13: elements discarded, by number of queries", discard_rows),
    ]


def by_words(scale: Scale, progress: Progress) -> list[ResultTable]:
    """Reproduce Figures 14 and 15, by number of keywords per query."""
    time_rows: list[tuple[Cell, ...]] = []
    discard_rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        progress(f"lab kemb: {data.name}, generating queries by their number of words")
        documents = data.draw_documents(scale.document_bytes, scale.documents)
        for words, pairs in draw_by_words(data.name, scale).items():
            progress(f"lab kemb: {data.name}, queries of {words} words")
            built = _build(pairs)
            counters = built.kemb.engine_counters()
            timed = _time_matching(built, documents, scale.repeats)
            states = counters["states"], counters["turned_away"]
            time_rows.append((data.name, words, len(pairs), *timed, *states))
            discard_rows.append((data.name, words, *_discarded(built.kemb, documents)))
    return [
        ResultTable(
            "fig14",
            "Fig. 14: milliseconds per document, by number of keywords",
            ("data", "keywords", "queries", *TIMED, "KEMB states", "over limit"),
            tuple(time_rows),
            (HOW_TIMED,),
            Chart("data", "keywords", TIMED, "ms per document", logarithmic=True),
        ),
        _discards("fig15", "Fig. 15: elements discarded, by number of keywords", discard_rows),
    ]


def by_size(scale: Scale, progress: Progress) -> ResultTable:
    """In addition to Figure 13: elements that KEMB discards if all keywords are names."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        pairs = draw_names(data.name, scale)
        for size in scale.sizes:
            progress(f"lab kemb: {data.name}, names only, documents of {size:,} bytes")
            documents = data.draw_documents((size, size), scale.documents)
            built = _build(pairs)
            timed = dict(zip(TIMED, _time_matching(built, documents, scale.repeats), strict=True))
            row = (*_discarded(built.kemb, documents), timed[KEMB], timed[KEMB_KEEPING])
            rows.append((data.name, len(pairs), size / 1000, *row))
    return ResultTable(
        "discards",
        "In addition to Fig. 13: elements discarded, by document size; keywords are names only",
        ("data", "queries", "KB", "elements", "discarded", KEMB, KEMB_KEEPING),
        tuple(rows),
        (HOW_DISCARDED, "KEMB with and without discarding: milliseconds per document."),
        Chart("data", "KB", ("elements", "discarded"), "elements per document"),
    )


def huge(scale: Scale, progress: Progress) -> ResultTable:
    """Reproduce Figure 16: one huge document of many records."""
    data = next(data for data in DATA_SETS if data.name == "bibliography")
    progress("lab kemb: generating one huge document")
    document_kemb, document_full = data.huge(scale.huge_bytes_kemb), data.huge(scale.huge_bytes)
    pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
    rows: list[tuple[Cell, ...]] = []
    for count in scale.huge_counts:
        index = index_of([pair.keywords for pair in pairs[:count]])
        for name, engine, document in (
            (KEMB, "kemb", document_kemb),
            (OURS, "postings", document_full),
        ):
            progress(f"lab kemb: one huge document, {name}, {count:,} queries")
            matcher = index.matcher(engine=engine)
            matcher.match(TINY)
            begin = perf_counter()
            matches = len(matcher.match(document))
            seconds = perf_counter() - begin
            megabytes = len(document) / 1e6
            rows.append((name, count, megabytes, matches, seconds, megabytes / seconds))
    return ResultTable(
        "fig16",
        "Fig. 16: one huge document (bibliography)",
        ("engine", "queries", "MB", "matches", "seconds", "MB/s"),
        tuple(rows),
        ("KEMB matches a shorter document of similar records, so that a run takes minutes.",),
        Chart("engine", "queries", ("MB/s",), "MB/s"),
    )


def _build(pairs: Sequence[PathAndKeywords]) -> Built:
    queries = [pair.keywords for pair in pairs]
    seconds: dict[str, float] = {}
    matchers: dict[str, KeywordMatcher] = {}
    for name, engine, discard in (
        (KEMB, "kemb", True),
        (KEMB_KEEPING, "kemb", False),
        (OURS, "postings", True),
    ):
        begin = perf_counter()
        matchers[name] = index_of(queries).matcher(engine=engine, discard=discard)
        matchers[name].match(TINY)
        seconds[name] = perf_counter() - begin
    begin = perf_counter()
    yfilter = _index_of_paths(pairs).matcher(engine="yfilter")
    yfilter.match(TINY)
    seconds[YFILTER] = perf_counter() - begin
    sides: dict[str, Callable[[Sequence[bytes]], Work]] = {
        name: partial(partial, match_all, matcher) for name, matcher in matchers.items()
    }
    sides[YFILTER] = partial(partial, _match_all, yfilter)
    sides[READER] = reader_pass
    return Built(matchers[KEMB], sides, seconds)


def _index_of_paths(pairs: Sequence[PathAndKeywords]) -> SubscriptionIndex:
    index = SubscriptionIndex()
    errors = index.add_many([f"q{number}" for number in range(len(pairs))], [p.path for p in pairs])
    assert not errors, next(iter(errors.values()))
    return index


def _match_all(matcher: Matcher, documents: Sequence[bytes]) -> int:
    return sum(len(matcher.match(document)) for document in documents)


def _time_matching(built: Built, documents: Sequence[bytes], repeats: int) -> list[float]:
    """Milliseconds per document, in the order of :data:`TIMED`."""
    works = {name: side(documents) for name, side in built.sides.items()}
    times = interleaved(works, repeats=repeats)
    return [times[name].median / len(documents) * 1e3 for name in TIMED]


def _discarded(kemb: KeywordMatcher, documents: Sequence[bytes]) -> tuple[float, float]:
    """The elements per document, and how many of them KEMB discards."""
    before = kemb.engine_counters()
    match_all(kemb, documents)
    after = kemb.engine_counters()
    elements, discarded = (after[name] - before[name] for name in ("elements", "discarded"))
    return elements / len(documents), discarded / len(documents)


def _discards(key: str, title: str, rows: list[tuple[Cell, ...]]) -> ResultTable:
    by = "queries" if key == "fig13" else "keywords"
    return ResultTable(
        key,
        title,
        ("data", by, "elements", "discarded"),
        tuple(rows),
        (HOW_DISCARDED,),
        Chart("data", by, ("discarded",), "elements per document"),
    )
