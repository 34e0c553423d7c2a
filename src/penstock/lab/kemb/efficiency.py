"""Figures 11 to 16: how long indexing and matching take, and what KEMB discards.

Every engine reports which of its queries match a document. For KEMB that is nearly the work of
finding all answers: it only skips queries that have an answer already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import perf_counter

from penstock.lab.bench.keywords import index_of, match_all
from penstock.lab.bench.reader_baseline import reading_of
from penstock.lab.bench.report import Tell
from penstock.lab.bench.timing import Work, interleaved
from penstock.lab.experiment_tables import Cell, Chart, Finding
from penstock.lab.kemb.data import DATA_SETS, draw_by_words, draw_names, draw_pairs
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
"""Whatever an engine does only when the first document comes belongs to indexing."""

HOW_INDEXED = (
    "From the texts of the queries to the first document: for KEMB the automaton, the coverage"
    " rules and the coverage graph."
)
HOW_TIMED = (
    "Milliseconds a document, reading included. KEMB and Penstock find which of the keyword queries"
    " match, the YFilter-like engine which of the XPath queries."
)
HOW_DISCARDED = "A document; elements that hold no keyword of any query are not counted."


@dataclass(frozen=True, slots=True)
class Built:
    """The engines over the same queries, and the seconds that each took to be ready."""

    kemb: KeywordMatcher
    sides: dict[str, Callable[[Sequence[bytes]], Work]]
    seconds: dict[str, float]


def by_count(scale: Scale, tell: Tell) -> list[Finding]:
    """Figures 11, 12 and 13: all against the number of queries."""
    index_rows: list[tuple[Cell, ...]] = []
    time_rows: list[tuple[Cell, ...]] = []
    discard_rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        tell(f"lab kemb: {data.name}, drawing queries")
        pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
        documents = data.draw_documents(scale.document_bytes, scale.documents)
        for count in scale.query_counts:
            tell(f"lab kemb: {data.name}, {count:,} queries")
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
        Finding(
            "fig11",
            "Fig. 11: seconds to index, by number of queries",
            ("data", "queries", *INDEXED, "KEMB states", "no room"),
            tuple(index_rows),
            (
                HOW_INDEXED,
                "No room: queries that the automaton turned away, each on its own stack.",
            ),
            Chart("data", "queries", INDEXED, "seconds", logarithmic=True),
        ),
        Finding(
            "fig12",
            "Fig. 12: milliseconds a document, by number of queries",
            ("data", "queries", *TIMED),
            tuple(time_rows),
            (HOW_TIMED,),
            Chart("data", "queries", TIMED, "ms a document", logarithmic=True),
        ),
        _discards("fig13", "Fig. 13: elements discarded, by number of queries", discard_rows),
    ]


def by_words(scale: Scale, tell: Tell) -> list[Finding]:
    """Figures 14 and 15: all against the number of keywords of a query."""
    time_rows: list[tuple[Cell, ...]] = []
    discard_rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        tell(f"lab kemb: {data.name}, drawing queries by their number of words")
        documents = data.draw_documents(scale.document_bytes, scale.documents)
        for words, pairs in draw_by_words(data.name, scale).items():
            tell(f"lab kemb: {data.name}, queries of {words} words")
            built = _build(pairs)
            counters = built.kemb.engine_counters()
            timed = _time_matching(built, documents, scale.repeats)
            states = counters["states"], counters["turned_away"]
            time_rows.append((data.name, words, len(pairs), *timed, *states))
            discard_rows.append((data.name, words, *_discarded(built.kemb, documents)))
    return [
        Finding(
            "fig14",
            "Fig. 14: milliseconds a document, by number of keywords",
            ("data", "keywords", "queries", *TIMED, "KEMB states", "no room"),
            tuple(time_rows),
            (HOW_TIMED,),
            Chart("data", "keywords", TIMED, "ms a document", logarithmic=True),
        ),
        _discards("fig15", "Fig. 15: elements discarded, by number of keywords", discard_rows),
    ]


def by_size(scale: Scale, tell: Tell) -> Finding:
    """Beside Figure 13: what KEMB discards when every keyword is a name, in larger documents."""
    rows: list[tuple[Cell, ...]] = []
    for data in DATA_SETS:
        pairs = draw_names(data.name, scale)
        for size in scale.sizes:
            tell(f"lab kemb: {data.name}, names only, documents of {size:,} bytes")
            documents = data.draw_documents((size, size), scale.documents)
            built = _build(pairs)
            timed = dict(zip(TIMED, _time_matching(built, documents, scale.repeats), strict=True))
            row = (*_discarded(built.kemb, documents), timed[KEMB], timed[KEMB_KEEPING])
            rows.append((data.name, len(pairs), size / 1000, *row))
    return Finding(
        "discards",
        "Beside Fig. 13: elements discarded, by size of the document; queries of names only",
        ("data", "queries", "KB", "elements", "discarded", KEMB, KEMB_KEEPING),
        tuple(rows),
        (HOW_DISCARDED, "KEMB with discarding and without: milliseconds a document."),
        Chart("data", "KB", ("elements", "discarded"), "elements a document"),
    )


def huge(scale: Scale, tell: Tell) -> Finding:
    """Figure 16: one huge document of very many records."""
    data = next(data for data in DATA_SETS if data.name == "bibliography")
    tell("lab kemb: one huge document, drawing it")
    for_kemb, whole = data.huge(scale.huge_bytes_kemb), data.huge(scale.huge_bytes)
    pairs = draw_pairs(data.name, max(scale.query_counts), scale.words_max)
    rows: list[tuple[Cell, ...]] = []
    for count in scale.huge_counts:
        index = index_of([pair.keywords for pair in pairs[:count]])
        for name, engine, document in ((KEMB, "kemb", for_kemb), (OURS, "postings", whole)):
            tell(f"lab kemb: one huge document, {name}, {count:,} queries")
            matcher = index.matcher(engine=engine)
            matcher.match(TINY)
            begin = perf_counter()
            matches = len(matcher.match(document))
            seconds = perf_counter() - begin
            megabytes = len(document) / 1e6
            rows.append((name, count, megabytes, matches, seconds, megabytes / seconds))
    return Finding(
        "fig16",
        "Fig. 16: one huge document (bibliography)",
        ("engine", "queries", "MB", "matches", "seconds", "MB/s"),
        tuple(rows),
        ("KEMB got a shorter document, of the same records: so that a run takes minutes.",),
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
    sides[READER] = reading_of
    return Built(matchers[KEMB], sides, seconds)


def _index_of_paths(pairs: Sequence[PathAndKeywords]) -> SubscriptionIndex:
    index = SubscriptionIndex()
    errors = index.add_many([f"q{number}" for number in range(len(pairs))], [p.path for p in pairs])
    assert not errors, next(iter(errors.values()))
    return index


def _match_all(matcher: Matcher, documents: Sequence[bytes]) -> int:
    return sum(len(matcher.match(document)) for document in documents)


def _time_matching(built: Built, documents: Sequence[bytes], repeats: int) -> list[float]:
    """Milliseconds a document, in the order of :data:`TIMED`."""
    works = {name: side(documents) for name, side in built.sides.items()}
    times = interleaved(works, repeats=repeats)
    return [times[name].median / len(documents) * 1e3 for name in TIMED]


def _discarded(kemb: KeywordMatcher, documents: Sequence[bytes]) -> tuple[float, float]:
    """Elements of a document, and how many of them KEMB discarded."""
    before = kemb.engine_counters()
    match_all(kemb, documents)
    after = kemb.engine_counters()
    elements, discarded = (after[name] - before[name] for name in ("elements", "discarded"))
    return elements / len(documents), discarded / len(documents)


def _discards(key: str, title: str, rows: list[tuple[Cell, ...]]) -> Finding:
    by = "queries" if key == "fig13" else "keywords"
    return Finding(
        key,
        title,
        ("data", by, "elements", "discarded"),
        tuple(rows),
        (HOW_DISCARDED,),
        Chart("data", by, ("discarded",), "elements a document"),
    )
