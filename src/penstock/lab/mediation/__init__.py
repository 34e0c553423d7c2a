"""The experiments of the paper on heterogeneous dissemination, on our own course catalogues."""

from __future__ import annotations

from penstock.lab.bench.machine import this_machine
from penstock.lab.bench.report import Tell
from penstock.lab.findings import Findings
from penstock.lab.mediation.exchange import by_held_memory, by_repetition
from penstock.lab.mediation.matching_quality import by_hand
from penstock.lab.mediation.response import (
    by_bandwidth,
    by_header,
    by_size,
    by_subscriptions,
    by_topology,
)
from penstock.lab.mediation.rewritten_queries import by_space_and_change
from penstock.lab.mediation.scale import FULL, QUICK


def run(*, quick: bool, tell: Tell) -> Findings:
    """Figure 5, and what the paper says without a figure."""
    scale = QUICK if quick else FULL
    parts = (
        by_bandwidth,
        by_size,
        by_subscriptions,
        by_topology,
        by_repetition,
        by_held_memory,
        by_header,
        by_space_and_change,
        by_hand,
    )
    return Findings("mediation", quick, this_machine(), tuple(part(scale, tell) for part in parts))
