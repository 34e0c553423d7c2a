"""The memory that NDDR holds while it rewrites a document."""

from __future__ import annotations

from statistics import mean, median

from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.mediation.querying_time import draw, subscription_matcher
from penstock.lab.mediation.scale import Scale
from penstock.mediation import MediatedMatcher


def by_held_memory(scale: Scale, progress: Progress) -> ResultTable:
    """Measure the memory that NDDR holds as a share of the document."""
    mediated = MediatedMatcher(subscription_matcher(scale.subscriptions[0]), way="nddr")
    rows: list[tuple[Cell, ...]] = []
    for size in scale.sizes:
        progress(f"lab mediation: memory, {size:,} bytes")
        sent = draw(scale.catalogues, size)
        shares = [
            100
            * mediated.match(each.document, each.mapping).counters.work.held_bytes
            / len(each.document)
            for each in sent
        ]
        largest = max(range(len(sent)), key=shares.__getitem__)
        name = sent[largest].catalogue
        rows.append((size / 1000, mean(shares), median(shares), shares[largest], name))
    return ResultTable(
        "memory",
        "Memory held by NDDR, as a share of the document",
        ("KB", "mean %", "median %", "maximum %", "catalogue"),
        tuple(rows),
        ("The paper: around 5% of most documents.",),
    )
