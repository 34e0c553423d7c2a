"""The experiments of the paper on heterogeneous dissemination, on the course catalogues."""

from __future__ import annotations

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults
from penstock.lab.mediation.exchange_repetition import by_repetition
from penstock.lab.mediation.held_memory import by_held_memory
from penstock.lab.mediation.integration_quality import integration_quality
from penstock.lab.mediation.pairwise_matching_quality import pairwise_quality
from penstock.lab.mediation.query_rewriting_cost import rewriting_cost
from penstock.lab.mediation.response_time import (
    by_bandwidth,
    by_header,
    by_size,
    by_subscriptions,
    by_topology,
)
from penstock.lab.mediation.scale import FULL, QUICK
from penstock.lab.mediation.schema_matching_quality import matching_quality


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Reproduce Figure 5, and the results that the paper states without a figure."""
    scale = QUICK if quick else FULL
    parts = (
        by_bandwidth,
        by_size,
        by_subscriptions,
        by_topology,
        by_repetition,
        by_held_memory,
        by_header,
        rewriting_cost,
        matching_quality,
        pairwise_quality,
        integration_quality,
    )
    return ExperimentResults(
        "mediation", quick, this_machine(), tuple(part(scale, progress) for part in parts)
    )
