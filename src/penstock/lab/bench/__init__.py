"""Benchmarks that check the performance budgets, as ratios within one run.

Each is imported when it runs: some need the extra `spark` or `links`, and the memory of a process
that is measured should not contain the others.
"""

from __future__ import annotations

import importlib
from functools import partial
from typing import Protocol

from penstock.lab.bench.report import Progress, Report


class Bench(Protocol):
    """Runs a benchmark and reports its progress."""

    def __call__(self, *, quick: bool, progress: Progress) -> Report:
        """Return the report. A quick run is small: it only checks that the benchmark works."""


def _run(module: str, *, quick: bool, progress: Progress) -> Report:
    bench: Bench = importlib.import_module(f"{__name__}.{module}").run
    return bench(quick=quick, progress=progress)


BENCHES: dict[str, Bench] = {
    name: partial(_run, name)
    for name in (
        "reader",
        "paths",
        "results",
        "index",
        "keywords",
        "mediation",
        "relations",
        "hostile",
        "routing",
        "overlay",
        "sync",
        "mailbox",
        "pipeline",
        "delivery",
    )
}
"""All benchmarks by name, which is the name of the module."""
