"""Sweeps over configurations and seeds as a Spark job, with confidence intervals.

A row is one configuration and seed, and its own task: runs take from seconds to minutes, and none
depends on another. Seeds vary everything at random: the overlay, and the data with its queries.
"""

from __future__ import annotations

import math
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.overlay_runs import OverlayRun, Policy, RunConfiguration, run_overlay
from penstock.lab.overlay.run_store import RunStore
from penstock.lab.overlay.xml_configuration import XmlConfiguration
from penstock.lab.overlay.xml_data import XML_DATA
from penstock.pipeline.numbered_tasks import NumberedTasks
from penstock.pipeline.session import session

BUCKETS: Final = "buckets"

STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The 97.5% quantiles of Student's t with 1, 2, ... degrees of freedom."""

NORMAL: Final = 1.96
"""The same for more degrees of freedom, slightly too small."""


@dataclass(frozen=True, slots=True)
class SweepRow:
    """A configuration and seed."""

    data: str
    """``buckets``, or the name of a set of XML data."""

    policy: str
    fan_out: int
    nodes: int
    documents: int
    seed: int

    def configuration(self) -> RunConfiguration:
        """What to run."""
        if self.data == BUCKETS:
            return BucketConfiguration(
                nodes=self.nodes,
                documents=self.documents,
                fan_out=self.fan_out,
                policy=Policy(self.policy),
                seed=self.seed,
            )
        [data] = [each for each in XML_DATA if each.name == self.data]
        return XmlConfiguration(
            data=replace(data, seed=self.seed),
            nodes=self.nodes,
            documents=self.documents,
            fan_out=self.fan_out,
            policy=Policy(self.policy),
            seed=self.seed,
        )


@dataclass(frozen=True, slots=True)
class SweepResult:
    """What was measured in a row."""

    number: int
    overhead: float
    late_overhead: float
    depth: float
    moves: int
    messages: int


_FIELDS: Final[dict[str, pa.DataType]] = {
    "number": pa.int64(),
    "overhead": pa.float64(),
    "late_overhead": pa.float64(),
    "depth": pa.float64(),
    "moves": pa.int64(),
    "messages": pa.int64(),
}
RESULT_SCHEMA: Final = pa.schema(_FIELDS)
SPARK_SCHEMA: Final = (
    "number long, overhead double, late_overhead double, depth double, moves long, messages long"
)


def measure(number: int, row: SweepRow, finished: Path | None = None) -> SweepResult:
    """Run one row, or read its result if it is finished."""
    runs: RunStore[RunConfiguration, OverlayRun] = RunStore(run_overlay, finished)
    found = runs(row.configuration())
    return SweepResult(
        number,
        found.system_overhead,
        found.late_overhead,
        found.mean_depth,
        len(found.moves),
        sum(found.messages.values()),
    )


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
class Estimate:
    """A mean over seeds, and half the width of its 95% confidence interval."""

    mean: float
    half_width: float


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and confidence interval by Student's t; of one value it is unknown.

    >>> found = estimate([1.0, 2.0, 3.0])
    >>> found.mean, round(found.half_width, 2)
    (2.0, 2.48)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, math.inf)
    degrees = len(values) - 1
    quantile = STUDENT[degrees - 1] if degrees <= len(STUDENT) else NORMAL
    return Estimate(mean, quantile * statistics.stdev(values) / math.sqrt(len(values)))


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
            for policy in Policy
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
    return ExperimentResults("codd-sweep", quick, this_machine(), (table_of(scale, rows, results),))


def table_of(
    scale: SweepScale, rows: Sequence[SweepRow], results: Sequence[SweepResult]
) -> ResultTable:
    """Overhead by data, fan-out and policy, with confidence intervals."""
    groups: defaultdict[tuple[str, int], defaultdict[str, list[float]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row, result in zip(rows, results, strict=True):
        groups[row.data, row.fan_out][row.policy].append(result.overhead)
    table: list[tuple[Cell, ...]] = []
    for (data, fan_out), by_policy in groups.items():
        cells: list[Cell] = [data, fan_out]
        for policy in Policy:
            found = estimate(by_policy[policy])
            cells += [found.mean, found.half_width]
        ratios = [
            ours / paper
            for ours, paper in zip(by_policy[Policy.OURS], by_policy[Policy.PAPER], strict=True)
        ]
        found = estimate(ratios)
        cells += [found.mean, found.half_width]
        table.append(tuple(cells))
    columns = ["data", "fan-out"]
    for policy in Policy:
        columns += [str(policy), f"{policy} ±"]
    columns += ["ours relative to the paper's", "relative ±"]
    return ResultTable(
        "fan-out",
        "System overhead by fan-out, mean over seeds and half the 95% confidence interval",
        tuple(columns),
        tuple(table),
        (
            f"{scale.nodes} nodes, {scale.documents:,} documents, {len(scale.seeds)} seeds of the"
            " overlay, the data and the queries; one task a configuration and seed.",
        ),
        Chart("data", "fan-out", tuple(Policy), "overhead", one_scale=True),
    )
