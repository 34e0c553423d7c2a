"""``bench reader``: the reader alone, compared with lxml building a tree from the same bytes.

Also compares a document in ISO-8859-1 with the same document in UTF-8, and the inference of a
schema with reading.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lxml import etree

from penstock.lab.bench.reader_baseline import reader_pass
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import interleaved
from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema
from penstock.lab.workload import DocumentGenerator, world_facts
from penstock.matching import KeywordIndex, KeywordMatcher
from penstock.schema import SampleReader

DOCUMENTS = 400
DOCUMENTS_QUICK = 4
REPEATS = 9
REPEATS_QUICK = 2

CITIES = 3_000
CITIES_QUICK = 42
"""Records in the document that is read in two encodings."""


def run(*, quick: bool, progress: Progress) -> Report:
    """Measure documents of every built-in schema; the smallest ratio counts for the budget."""
    ratios: dict[str, float] = {}
    figures: list[Figure] = []
    for schema in SCHEMA_ROOTS:
        progress(f"bench reader: {schema}")
        generator = DocumentGenerator(built_in_schema(schema))
        documents = list(generator.documents(DOCUMENTS_QUICK if quick else DOCUMENTS, seed=1))
        size = sum(map(len, documents))
        times = interleaved(
            {"reader": reader_pass(documents), "lxml": partial(_build_trees, documents)},
            repeats=REPEATS_QUICK if quick else REPEATS,
        )
        ratios[schema] = times["lxml"].median / times["reader"].median
        figures += [
            Figure(f"{schema}: the reader", size / times["reader"].median / 1e6, "MB/s"),
            Figure(f"{schema}: lxml", size / times["lxml"].median / 1e6, "MB/s"),
            Figure(f"{schema}: ratio", ratios[schema], "x"),
        ]
    values = {"speedup": min(ratios.values())}
    values["latin1"] = _latin1(quick, figures, progress)
    values["schema_infer"] = _schema_inference(quick, figures, progress)
    return Report.on_this_machine("reader", quick=quick, figures=figures, values=values)


def _latin1(quick: bool, figures: list[Figure], progress: Progress) -> float:
    """Read and match a document in ISO-8859-1, relative to UTF-8; the smaller ratio."""
    progress("bench reader: ISO-8859-1")
    facts = world_facts(CITIES_QUICK if quick else CITIES, seed=1, accents=True)
    utf8 = facts.encode()
    latin1 = facts.replace("UTF-8", "ISO-8859-1", 1).encode("iso-8859-1")
    index = KeywordIndex()
    index.add("river", "harbour warehouse")
    matcher = index.matcher()
    times = interleaved(
        {
            "read UTF-8": reader_pass([utf8]),
            "read ISO-8859-1": reader_pass([latin1]),
            "match UTF-8": partial(_match, matcher, utf8),
            "match ISO-8859-1": partial(_match, matcher, latin1),
        },
        repeats=REPEATS_QUICK if quick else REPEATS,
    )
    figures += [
        Figure(f"world facts: {name}", len(utf8) / times[name].median / 1e6, "MB/s")
        for name in times
    ]
    return min(
        times[f"{work} UTF-8"].median / times[f"{work} ISO-8859-1"].median
        for work in ("read", "match")
    )


def _schema_inference(quick: bool, figures: list[Figure], progress: Progress) -> float:
    """Infer a schema from one large and from many small documents; the larger ratio to reading."""
    generator = DocumentGenerator(built_in_schema("customers"))
    samples = {
        "world facts": [world_facts(CITIES_QUICK if quick else CITIES, seed=1).encode()],
        "customers": list(generator.documents(DOCUMENTS_QUICK if quick else DOCUMENTS, seed=1)),
    }
    ratios: list[float] = []
    for name, documents in samples.items():
        progress(f"bench reader: schema of {name}")
        times = interleaved(
            {"reader": reader_pass(documents), "schema": partial(_infer_schema, documents)},
            repeats=REPEATS_QUICK if quick else REPEATS,
        )
        size = sum(map(len, documents))
        figures.append(
            Figure(f"{name}: schema inference", size / times["schema"].median / 1e6, "MB/s")
        )
        ratios.append(times["schema"].median / times["reader"].median)
    return max(ratios)


def _match(matcher: KeywordMatcher, document: bytes) -> None:
    matcher.match(document).raise_for_errors()


def _infer_schema(documents: Sequence[bytes]) -> None:
    samples = SampleReader()
    for document in documents:
        samples.add(document)
    samples.summary().tree()


def _build_trees(documents: Sequence[bytes]) -> None:
    for document in documents:
        etree.fromstring(document)
