"""The experiments of the KEMB paper (keyword-based XML message brokers), on our own data."""

from __future__ import annotations

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Tell
from penstock.lab.experiment_tables import Findings
from penstock.lab.kemb.effectiveness import clca_and_slca, precision_by_count, precision_by_words
from penstock.lab.kemb.efficiency import by_count, by_size, by_words, huge
from penstock.lab.kemb.scale import FULL, QUICK

NOT_TO_BE_HAD = (
    "Table 4 is missing: the INEX 2005 corpus with its topics and judgements is not to be had."
)


def run(*, quick: bool, tell: Tell) -> Findings:
    """Figures 11 to 18 and Table 3, and what they leave to be asked."""
    scale = QUICK if quick else FULL
    found = [
        *by_count(scale, tell),
        by_size(scale, tell),
        *by_words(scale, tell),
        huge(scale, tell),
        precision_by_count(scale, tell),
        precision_by_words(scale, tell),
        clca_and_slca(scale, tell),
    ]
    return Findings("kemb", quick, this_machine(), tuple(found), (NOT_TO_BE_HAD,))
