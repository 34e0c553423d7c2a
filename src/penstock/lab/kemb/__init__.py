"""The experiments of the KEMB paper (keyword-based XML message brokers), on Penstock's own data."""

from __future__ import annotations

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults
from penstock.lab.kemb.effectiveness import clca_and_slca, precision_by_count, precision_by_words
from penstock.lab.kemb.efficiency import by_count, by_size, by_words, huge
from penstock.lab.kemb.scale import FULL, QUICK

MISSING = (
    "Table 4 is missing: the INEX 2005 corpus with its topics and judgements is not available."
)


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Reproduce Figures 11 to 18 and Table 3, with additional measurements."""
    scale = QUICK if quick else FULL
    tables = [
        *by_count(scale, progress),
        by_size(scale, progress),
        *by_words(scale, progress),
        huge(scale, progress),
        precision_by_count(scale, progress),
        precision_by_words(scale, progress),
        clca_and_slca(scale, progress),
    ]
    return ExperimentResults("kemb", quick, this_machine(), tuple(tables), (MISSING,))
