"""The experiments of papers by name, repeated on Penstock's own data."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from penstock.lab import aggregation, kemb, mediation, xsync
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults


class Experiment(Protocol):
    """Runs an experiment and reports its progress."""

    def __call__(self, *, quick: bool, progress: Progress) -> ExperimentResults:
        """Return the results. A quick run is small and shows trends at best."""


class ResumableExperiment(Protocol):
    """An experiment of many runs that can be interrupted."""

    def __call__(
        self, *, quick: bool, progress: Progress, finished: Path | None = None
    ) -> ExperimentResults:
        """The same; finished runs are kept in a folder, and are not repeated."""


# Imported only when they run, because they need the extras `links` and `spark`.


def _piggyback(
    *, quick: bool, progress: Progress, finished: Path | None = None
) -> ExperimentResults:
    from penstock.lab.routing import piggyback  # noqa: PLC0415

    return piggyback.run(quick=quick, progress=progress, finished=finished)


def _codd(*, quick: bool, progress: Progress, finished: Path | None = None) -> ExperimentResults:
    from penstock.lab.overlay import codd  # noqa: PLC0415

    return codd.run(quick=quick, progress=progress, finished=finished)


def _codd_sweep(
    *, quick: bool, progress: Progress, finished: Path | None = None
) -> ExperimentResults:
    from penstock.lab.overlay import sweep  # noqa: PLC0415

    return sweep.run(quick=quick, progress=progress, finished=finished)


EXPERIMENTS: dict[str, Experiment] = {
    "aggregation": aggregation.run,
    "codd": _codd,
    "codd-sweep": _codd_sweep,
    "kemb": kemb.run,
    "mediation": mediation.run,
    "piggyback": _piggyback,
    "xsync": xsync.run,
}
"""All experiments by name."""

RESUMABLE: dict[str, ResumableExperiment] = {
    "codd": _codd,
    "codd-sweep": _codd_sweep,
    "piggyback": _piggyback,
}
"""Those that can be interrupted."""
