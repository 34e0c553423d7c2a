"""``bench delivery``: from ``publish`` to committed mailboxes."""

from __future__ import annotations

from penstock.lab.bench import delivery_latency, delivery_throughput
from penstock.lab.bench.report import BenchResults, Progress, Report


def run(*, quick: bool, progress: Progress) -> Report:
    """Measure the latency and the throughput of delivery."""
    results = BenchResults()
    delivery_latency.measure(results, quick=quick, progress=progress)
    delivery_throughput.measure(results, quick=quick, progress=progress)
    return results.report("delivery", quick=quick)
