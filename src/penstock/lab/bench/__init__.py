"""Benches: the budgets of the design, measured as ratios within one run."""

from __future__ import annotations

from typing import Protocol

from penstock.lab.bench import index, keywords, mediation, paths, pipeline, reader
from penstock.lab.bench.report import Report, Tell


class Bench(Protocol):
    """Measures, and tells what it is doing meanwhile."""

    def __call__(self, *, quick: bool, tell: Tell) -> Report:
        """A quick run uses small numbers: it shows that the bench works, and nothing else."""


BENCHES: dict[str, Bench] = {
    "reader": reader.run,
    "paths": paths.run,
    "index": index.run,
    "keywords": keywords.run,
    "mediation": mediation.run,
    "pipeline": pipeline.run,
}
"""Every bench by name."""
