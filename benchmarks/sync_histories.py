"""Runs many random histories of synchronisation, each from its own seed.

    python benchmarks/sync_histories.py --histories 100000 --report REPORT

Options of the histories (faults, clients, size) vary with the seed. Every divergence is printed
with its seed; the exit status is 1 if there was one. SIGTERM and ``--minutes`` end the run with a
report of what was done.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from multiprocessing import get_context
from pathlib import Path

from penstock.pipeline import history_replay
from penstock.pipeline.session import session
from penstock.sync.simulation import HistoryOptions, HistorySummary, options_of_seed, run_history

CHUNK = 50
JOB_CHUNKS = 20
"""Tasks of a Spark job, each of a chunk."""


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


def _results(
    seeds: range, processes: int, master: str | None
) -> Iterator[tuple[Counter[str], list[str]]]:
    """The results of chunks in order, so that those of a stopped run are of consecutive seeds."""
    if master is None:
        with get_context("spawn").Pool(processes) as pool:
            yield from pool.imap(run_chunk, seeds)
    else:
        yield from _spark_results(seeds, master)


def _spark_results(seeds: range, master: str) -> Iterator[tuple[Counter[str], list[str]]]:
    with (
        tempfile.TemporaryDirectory(prefix="penstock-histories-") as folder,
        session(master=master, remote=None, settings={}, log=Path(folder, "spark.log")) as spark,
    ):
        for first in range(seeds.start, seeds.stop, JOB_CHUNKS * CHUNK):
            last = min(first + JOB_CHUNKS * CHUNK, seeds.stop)
            replayed = history_replay.replay_histories(
                spark, range(first, last), partitions=JOB_CHUNKS
            ).collect()
            counts = Counter({"histories": len(replayed)})
            for name in history_replay.COUNTS:
                counts[name] = sum(row[name] or 0 for row in replayed)
            yield (
                counts,
                [f"seed {row['seed']}: {row['failure']}" for row in replayed if row["failure"]],
            )


def main() -> int:
    """Runs the histories and writes the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--histories", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=None, help="stop after this time")
    parser.add_argument("--spark", metavar="MASTER", help="run as a Spark job, such as local[2]")
    parser.add_argument("--report", type=Path, default=None)
    arguments = parser.parse_args()
    start = time.monotonic()
    counts: Counter[str] = Counter()
    failures: list[str] = []
    seeds = range(arguments.first, arguments.first + arguments.histories, CHUNK)
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    for done, failed in _results(seeds, arguments.processes, arguments.spark):
        counts += done
        failures += failed
        for failure in failed:
            print(failure, flush=True)
        print(f"{counts['histories']} histories, {len(failures)} failed", flush=True)
        is_late = arguments.minutes and time.monotonic() - start > 60 * arguments.minutes
        if is_late or stopped.is_set():
            break
    report = _report(counts, failures, arguments.first, arguments.spark)
    print(report)
    if arguments.report is not None:
        arguments.report.write_text(report, encoding="utf-8")
    return 1 if failures else 0


def _report(counts: Counter[str], failures: list[str], first: int, master: str | None) -> str:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = f"CPU seconds: {usage.ru_utime + usage.ru_stime:.0f}"
    lines = [
        f"histories of synchronisation, seeds from {first}",
        f"options of a history: {', '.join(each.name for each in fields(HistoryOptions))}",
        f"failed: {len(failures)}",
        *(f"{name}: {count}" for name, count in sorted(counts.items())),
        # The processes of Spark are children of the JVM.
        seconds if master is None else f"as a Spark job on {master}",
    ]
    return "\n".join([*lines, *failures, ""])


if __name__ == "__main__":
    sys.exit(main())
