"""The experiments of papers, by name: the paper's measurements on our own data."""

from __future__ import annotations

from typing import Protocol

from penstock.lab import kemb, mediation
from penstock.lab.bench.report import Tell
from penstock.lab.experiment_tables import Findings


class Experiment(Protocol):
    """Measures, and tells what it is doing meanwhile."""

    def __call__(self, *, quick: bool, tell: Tell) -> Findings:
        """A quick run uses small numbers: it shows the shape of things, if that."""


EXPERIMENTS: dict[str, Experiment] = {"kemb": kemb.run, "mediation": mediation.run}
"""Every experiment by name."""
