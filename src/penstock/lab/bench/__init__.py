"""Benchmarks that check the performance budgets, as ratios within one run."""

from __future__ import annotations

from typing import Protocol

from penstock.lab.bench import (
    hostile,
    index,
    keywords,
    mailbox,
    mediation,
    paths,
    reader,
    results,
)
from penstock.lab.bench.report import Progress, Report


class Bench(Protocol):
    """Runs a benchmark and reports its progress."""

    def __call__(self, *, quick: bool, progress: Progress) -> Report:
        """Return the report. A quick run is small: it only checks that the benchmark works."""


def _pipeline(*, quick: bool, progress: Progress) -> Report:
    # Imported here because it needs Spark, unlike the other benchmarks.
    from penstock.lab.bench import pipeline  # noqa: PLC0415

    return pipeline.run(quick=quick, progress=progress)


BENCHES: dict[str, Bench] = {
    "reader": reader.run,
    "paths": paths.run,
    "results": results.run,
    "index": index.run,
    "keywords": keywords.run,
    "mediation": mediation.run,
    "hostile": hostile.run,
    "mailbox": mailbox.run,
    "pipeline": _pipeline,
}
"""All benchmarks by name."""
