"""``bench reader``: the reader alone, compared with lxml building a tree from the same bytes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from lxml import etree

from penstock.lab.bench.reader_baseline import reader_pass
from penstock.lab.bench.report import Figure, Progress, Report
from penstock.lab.bench.timing import interleaved
from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema
from penstock.lab.workload import DocumentGenerator

DOCUMENTS = 400
DOCUMENTS_QUICK = 4
REPEATS = 9
REPEATS_QUICK = 2


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
    slowest = {"speedup": min(ratios.values())}
    return Report.on_this_machine("reader", quick=quick, figures=figures, values=slowest)


def _build_trees(documents: Sequence[bytes]) -> None:
    for document in documents:
        etree.fromstring(document)
