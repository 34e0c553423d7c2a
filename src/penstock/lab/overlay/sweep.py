"""Sweeps over configurations and seeds as a Spark job, with confidence intervals.

A row is one configuration and seed, and its own task: runs take from seconds to minutes, and none
depends on another. Seeds vary everything at random: the overlay, and the data with its queries.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import ExperimentResults
from penstock.lab.overlay.overlay_runs import Policy
from penstock.lab.overlay.sweep_rows import (
    BUCKETS,
    RESULT_SCHEMA,
    SIENA_LINES,
    SPARK_SCHEMA,
    SweepResult,
    SweepRow,
    measure,
)
from penstock.lab.overlay.sweep_tables import SweepTables
from penstock.lab.overlay.xml_data import XML_DATA
from penstock.pipeline.numbered_tasks import NumberedTasks
from penstock.pipeline.session import session


def run_rows(
    tasks: NumberedTasks, rows: Sequence[SweepRow], finished: Path | None = None
) -> list[SweepResult]:
    """Run all rows, each in a task of its own; results are in the order of the rows.

    Finished runs are kept in a folder that all workers share, if one is given.
    """
    found = tasks.run(
        len(rows),
        lambda number: asdict(measure(number, rows[number], finished)),
        RESULT_SCHEMA,
        SPARK_SCHEMA,
    )
    return sorted((SweepResult(**row) for row in found), key=lambda result: result.number)


@dataclass(frozen=True, slots=True)
class SweepScale:
    """The sizes of a sweep."""

    nodes: int
    documents: int
    fan_outs: tuple[int, ...]
    seeds: tuple[int, ...]

    def rows(self) -> list[SweepRow]:
        """All configurations and seeds; those with the same data and queries follow each other, so
        that a worker evaluates them once."""
        return [
            SweepRow(data, str(policy), fan_out, self.nodes, self.documents, seed)
            for seed in self.seeds
            for data in (BUCKETS, *(each.name for each in XML_DATA))
            for fan_out in self.fan_outs
            for policy in (*Policy, *SIENA_LINES)
        ]


FULL = SweepScale(400, 4_000, (2, 4, 6), (1, 2, 3, 4, 5))
QUICK = SweepScale(60, 400, (2, 6), (1, 2, 3))


def run(*, quick: bool, progress: Progress, finished: Path | None = None) -> ExperimentResults:
    """Run the sweep on all cores of this machine."""
    finished = None if finished is None else finished.absolute()
    scale = QUICK if quick else FULL
    rows = scale.rows()
    progress(f"lab codd-sweep: {len(rows)} runs as a Spark job")
    with (
        tempfile.TemporaryDirectory() as folder,
        session(master=None, remote=None, settings={}, log=Path(folder) / "spark.log") as spark,
    ):
        results = run_rows(NumberedTasks(spark), rows, finished)
    note = (
        f"{scale.nodes} nodes, {scale.documents:,} documents, {len(scale.seeds)} seeds of the"
        " overlay, the data and the queries; one task a configuration and seed."
    )
    tables = SweepTables(rows, results, note)
    return ExperimentResults(
        "codd-sweep",
        quick,
        this_machine(),
        (tables.by_fan_out(), tables.measures(), tables.claims()),
    )
