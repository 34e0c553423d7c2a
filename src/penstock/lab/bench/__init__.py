"""Benchmarks that check the performance budgets, as ratios within one run."""

from __future__ import annotations

from typing import Protocol

from penstock.lab.bench import index, keywords, mediation, paths, pipeline, reader
from penstock.lab.bench.report import Progress, Report


class Bench(Protocol):
    """Runs a benchmark and reports its progress."""

    def __call__(self, *, quick: bool, progress: Progress) -> Report:
        """Return the report. A quick run is small: it only checks that the benchmark works."""


BENCHES: dict[str, Bench] = {
    "reader": reader.run,
    "paths": paths.run,
    "index": index.run,
    "keywords": keywords.run,
    "mediation": mediation.run,
    "pipeline": pipeline.run,
}
"""All benchmarks by name."""
