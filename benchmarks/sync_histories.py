"""Runs many random histories of synchronisation, each from its own seed.

    python benchmarks/sync_histories.py --histories 100000 --report REPORT

Options of the histories (faults, clients, size) vary with the seed. Every divergence is printed
with its seed; the exit status is 1 if there was one.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections import Counter
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path

from penstock.sync.simulation import HistoryOptions, HistorySummary, options_of_seed, run_history

CHUNK = 100


def run_chunk(first: int) -> tuple[Counter[str], list[str]]:
    """Runs the histories of consecutive seeds; returns counts and failures."""
    counts: Counter[str] = Counter()
    failures: list[str] = []
    for seed in range(first, first + CHUNK):
        try:
            counts.update(_counts(run_history(seed, options_of_seed(seed))))
        except Exception as failure:
            failures.append(f"seed {seed}: {type(failure).__name__}: {failure}")
        counts["histories"] += 1
    return counts, failures


def _counts(summary: HistorySummary) -> Counter[str]:
    numbers = {
        each.name: getattr(summary, each.name)
        for each in fields(HistorySummary)
        if each.name != "outcomes"
    }
    return Counter(numbers) + Counter({f"reported: {k}": v for k, v in summary.outcomes.items()})


def main() -> int:
    """Runs the histories and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None, help="stop after this time")
    parser.add_argument("--report", type=Path, default=None)
    arguments = parser.parse_args()
    start = time.monotonic()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    seeds = range(arguments.first, arguments.first + arguments.histories, CHUNK)
    wave = arguments.processes * 4
    with get_context("spawn").Pool(arguments.processes) as pool:
        for at in range(0, len(seeds), wave):
            for done, failed in pool.map(run_chunk, seeds[at : at + wave], chunksize=1):
                counts += done
                failures += failed
                for failure in failed:
                    print(failure, flush=True)
            print(f"{counts['histories']} histories, {len(failures)} failed", flush=True)
            if arguments.minutes and time.monotonic() - start > 60 * arguments.minutes:
                break
    report = _report(counts, failures, arguments.first)
    print(report)
    if arguments.report is not None:
        arguments.report.write_text(report, encoding="utf-8")
    return 1 if failures else 0


def _report(counts: Counter[str], failures: list[str], first: int) -> str:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [
        f"histories of synchronisation, seeds from {first}",
        f"options of a history: {', '.join(each.name for each in fields(HistoryOptions))}",
        f"failed: {len(failures)}",
        *(f"{name}: {count}" for name, count in sorted(counts.items())),
        f"CPU seconds: {usage.ru_utime + usage.ru_stime:.0f}",
    ]
    return "\n".join([*lines, *failures, ""])


if __name__ == "__main__":
    sys.exit(main())
