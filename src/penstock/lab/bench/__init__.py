"""Benchmarks that check the performance budgets, as ratios within one run."""

from __future__ import annotations

from typing import Protocol

from penstock.lab.bench import (
    hostile,
    index,
    keywords,
    mediation,
    paths,
    reader,
    relations,
    results,
)
from penstock.lab.bench.report import Progress, Report


class Bench(Protocol):
    """Runs a benchmark and reports its progress."""

    def __call__(self, *, quick: bool, progress: Progress) -> Report:
        """Return the report. A quick run is small: it only checks that the benchmark works."""


# Imported only when they run, because they need the extra `spark` or `links`, unlike the others.


def _routing(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import routing  # noqa: PLC0415

    return routing.run(quick=quick, progress=progress)


def _overlay(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import overlay  # noqa: PLC0415

    return overlay.run(quick=quick, progress=progress)


def _sync(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import sync  # noqa: PLC0415

    return sync.run(quick=quick, progress=progress)


def _mailbox(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import mailbox  # noqa: PLC0415

    return mailbox.run(quick=quick, progress=progress)


def _pipeline(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import pipeline  # noqa: PLC0415

    return pipeline.run(quick=quick, progress=progress)


def _delivery(*, quick: bool, progress: Progress) -> Report:
    from penstock.lab.bench import delivery  # noqa: PLC0415

    return delivery.run(quick=quick, progress=progress)


BENCHES: dict[str, Bench] = {
    "reader": reader.run,
    "paths": paths.run,
    "results": results.run,
    "index": index.run,
    "keywords": keywords.run,
    "mediation": mediation.run,
    "relations": relations.run,
    "hostile": hostile.run,
    "routing": _routing,
    "overlay": _overlay,
    "sync": _sync,
    "mailbox": _mailbox,
    "pipeline": _pipeline,
    "delivery": _delivery,
}
"""All benchmarks by name."""
