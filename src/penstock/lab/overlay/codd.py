"""The experiments of the CoDD paper: Figures 7 to 16."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.fault_runs import FaultConfiguration, FaultRun, run_churn, run_disaster
from penstock.lab.overlay.overlay_runs import (
    OverlayRun,
    Policy,
    RunConfiguration,
    run_overlay,
    run_siena,
    siena_network,
)
from penstock.lab.overlay.xml_figures import XmlFigures, XmlScale
from penstock.overlay.tree_picture import svg_of


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of the experiments."""

    base: BucketConfiguration
    fan_outs: tuple[int, ...]
    sizes: tuple[int, ...]
    sweep_documents: int
    """Documents of the runs that vary fan-out or size."""

    top: int
    """Interior nodes that Figure 7 ranks."""

    xml: XmlScale
    faulty_nodes: int
    """Peers of the runs with churn and disaster."""

    churn_minutes: int
    fault_seeds: tuple[int, ...]


FULL = Scale(
    BucketConfiguration(),
    (2, 3, 4, 6, 8, 10),
    (100, 200, 300, 400, 500),
    4_000,
    100,
    XmlScale(400, 4_000, (2, 4, 6, 10)),
    1_000,
    10,
    (1, 2, 3, 4, 5),
)
QUICK = Scale(
    BucketConfiguration(nodes=100, documents=2_000),
    (2, 4, 6),
    (40, 80, 120),
    1_000,
    25,
    XmlScale(120, 1_200, (2, 4, 6)),
    150,
    3,
    (1, 2),
)

SIENA = "Siena"
DISTRIBUTION_POINTS = 40
"""Points of a figure that shows a distribution over nodes."""


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Run the experiments, on the bucket model and on XML data."""
    codd = CoddExperiments(QUICK if quick else FULL, progress)
    tables = (
        codd.ranked_overheads(),
        codd.against_siena(),
        codd.by_fan_out(),
        codd.by_size(),
        codd.depth_distribution(),
        codd.depth_by_size(),
        codd.xml.data(),
        codd.xml.by_fan_out(),
        codd.over_time(),
        codd.move_effects(),
        codd.faults(),
        codd.claims(),
    )
    pictures = (("trees", codd.trees()),)
    return ExperimentResults("codd", quick, this_machine(), tables, pictures=pictures)


class CoddExperiments:
    """The experiments; runs that several figures need are made once."""

    def __init__(self, scale: Scale, progress: Progress) -> None:
        self._scale = scale
        self._progress = progress
        self._runs: dict[RunConfiguration, OverlayRun] = {}
        self._siena: dict[BucketConfiguration, float] = {}
        self.xml = XmlFigures(scale.xml, self._run)

    def _run(self, configuration: RunConfiguration) -> OverlayRun:
        if configuration not in self._runs:
            self._progress(
                f"lab codd: {configuration.policy}, {configuration.nodes} nodes,"
                f" fan-out {configuration.fan_out}"
            )
            self._runs[configuration] = run_overlay(configuration)
        return self._runs[configuration]

    @cached_property
    def _base(self) -> dict[Policy, OverlayRun]:
        return {policy: self._run(replace(self._scale.base, policy=policy)) for policy in Policy}

    @cached_property
    def _siena_ranked(self) -> list[float]:
        return run_siena(self._scale.base)

    def _siena_overhead(self, configuration: BucketConfiguration) -> float:
        if configuration not in self._siena:
            self._siena[configuration] = siena_network(configuration).overhead()
        return self._siena[configuration]

    def _note(self) -> str:
        base = self._scale.base
        return (
            f"{base.nodes} nodes, {base.documents:,} documents, k = {base.k}, selectivity"
            f" {base.selectivity}, a change every {base.change_every} documents, fan-out"
            f" {base.fan_out}, reorganisation every {base.reorganise_every} documents at threshold"
            f" {base.threshold}."
        )

    def trees(self) -> str:
        """The tree before and after reorganisation, by our policy, as SVG."""
        return svg_of(self._base[Policy.OURS].pictures)

    def ranked_overheads(self) -> ResultTable:
        """Figure 7."""
        rows = [
            (rank + 1, *(_at(run.overheads, rank) for run in self._base.values()))
            for rank in range(self._scale.top)
        ]
        return _table(
            "figure-7",
            "Overhead of interior nodes by rank (Fig. 7)",
            ("rank", *Policy),
            rows,
            (self._note(),),
            y_label="overhead",
        )

    def against_siena(self) -> ResultTable:
        """Figure 8."""
        rows = [
            (
                rank + 1,
                _at(self._siena_ranked, rank),
                *(
                    _at(self._base[policy].overheads, rank)
                    for policy in (Policy.PAPER, Policy.OURS)
                ),
            )
            for rank in range(max(self._scale.top, len(self._siena_ranked)))
        ]
        return _table(
            "figure-8",
            "Overhead of brokers and of peers by rank (Fig. 8)",
            ("rank", SIENA, Policy.PAPER, Policy.OURS),
            rows,
            (
                self._note(),
                "Siena: brokers only; documents for a broker's clients count as extraneous.",
            ),
            y_label="overhead",
        )

    def _sweep(self, configuration: BucketConfiguration) -> tuple[float, ...]:
        values = [
            self._run(replace(configuration, policy=policy)).system_overhead for policy in Policy
        ]
        return (*values, self._siena_overhead(configuration))

    def by_fan_out(self) -> ResultTable:
        """Figure 9."""
        base = replace(self._scale.base, documents=self._scale.sweep_documents)
        rows = [
            (fan_out, *self._sweep(replace(base, fan_out=fan_out)))
            for fan_out in self._scale.fan_outs
        ]
        return _table(
            "figure-9",
            "System overhead by fan-out (Fig. 9)",
            ("fan-out", *Policy, SIENA),
            rows,
            (f"{self._scale.sweep_documents:,} documents.",),
            y_label="overhead",
        )

    def by_size(self) -> ResultTable:
        """Figure 10."""
        base = replace(self._scale.base, documents=self._scale.sweep_documents)
        rows: list[tuple[Cell, ...]] = [
            (
                f"fan-out {fan_out}",
                nodes,
                *self._sweep(replace(base, fan_out=fan_out, nodes=nodes)),
            )
            for fan_out in (4, 6)
            for nodes in self._scale.sizes
        ]
        return ResultTable(
            "figure-10",
            "System overhead by number of nodes (Fig. 10)",
            ("fan-out", "nodes", *Policy, SIENA),
            tuple(rows),
            (f"{self._scale.sweep_documents:,} documents.",),
            Chart("fan-out", "nodes", (*Policy, SIENA), "overhead", one_scale=True),
        )

    def depth_distribution(self) -> ResultTable:
        """Figure 11."""
        count = self._scale.base.nodes
        points = min(count, DISTRIBUTION_POINTS)
        ranks = [round(index * (count - 1) / (points - 1)) for index in range(points)]
        rows = [
            (rank + 1, *(_at(run.depths, rank) for run in self._base.values())) for rank in ranks
        ]
        return _table(
            "figure-11",
            "Weighted average depth of nodes by rank (Fig. 11)",
            ("rank", *Policy),
            rows,
            (self._note(),),
            y_label="depth",
        )

    def depth_by_size(self) -> ResultTable:
        """Figure 12."""
        base = replace(self._scale.base, documents=self._scale.sweep_documents)
        rows = [
            (
                nodes,
                *(
                    self._run(replace(base, nodes=nodes, policy=policy)).mean_depth
                    for policy in Policy
                ),
            )
            for nodes in self._scale.sizes
        ]
        return _table(
            "figure-12",
            "Mean depth by number of nodes (Fig. 12)",
            ("nodes", *Policy),
            rows,
            (f"{self._scale.sweep_documents:,} documents.",),
            y_label="depth",
        )

    def over_time(self) -> ResultTable:
        """Figure 15."""
        series = [run.over_time for run in self._base.values()]
        rows = [
            (points[0][0], *(value for _, value in points)) for points in zip(*series, strict=True)
        ]
        return _table(
            "figure-15",
            "Mean overhead of nodes with extraneous documents, over time (Fig. 15)",
            ("documents", *Policy),
            rows,
            (self._note(),),
            y_label="overhead",
        )

    def move_effects(self) -> ResultTable:
        """Figure 16."""
        rows: list[tuple[Cell, ...]] = []
        for policy in (Policy.PAPER, Policy.OURS):
            moves = self._base[policy].moves
            size = max(1, len(moves) // 20)
            for start in range(0, len(moves), size):
                ratios = [move.ratio for move in moves[start : start + size]]
                rows.append((str(policy), start + 1, statistics.median(ratios)))
        return ResultTable(
            "figure-16",
            "Overhead of a peer after a child moved away, relative to before (Fig. 16)",
            ("policy", "move", "median ratio"),
            tuple(rows),
            (self._note(), "Medians of consecutive moves."),
            Chart("policy", "move", ("median ratio",), "ratio"),
        )

    def faults(self) -> ResultTable:
        """Beyond the paper: churn, and a disaster."""
        scale = self._scale
        rows: list[tuple[Cell, ...]] = []
        for seed in scale.fault_seeds:
            configuration = FaultConfiguration(nodes=scale.faulty_nodes, seed=seed)
            self._progress(f"lab codd: churn and disaster, seed {seed}")
            churn = run_churn(configuration, minutes=scale.churn_minutes)
            rows.append(("churn of 10% a minute", seed, *_fault_cells(churn)))
            disaster = run_disaster(configuration)
            rows.append(("disaster", seed, *_fault_cells(disaster)))
        return ResultTable(
            "faults",
            "Time without service, delay of documents, and messages that repair the tree",
            (
                "fault",
                "seed",
                "peers without service",
                "seconds, median",
                "seconds, 95%",
                "seconds, all",
                "delay, 99%",
                "delay, all",
                "repair messages a peer",
            ),
            tuple(rows),
            (
                f"{scale.faulty_nodes:,} peers, fan-out 6, a document a second, heartbeats every 5"
                " s, dead after 16 s of silence. Nothing was lost, repeated or out of order.",
                f"Churn: {scale.churn_minutes} minutes; half of those who leave stop without"
                " notice. Time from the loss of the parent, which is noticed late, to the next;"
                " messages a peer and minute.",
                "Disaster: a third of the peers stop at once, and a region of a sixth is cut off"
                " for 60 s. Time from there until a survivor is connected to the source and lacks"
                " nothing; messages a survivor until all are.",
            ),
        )

    def claims(self) -> ResultTable:
        """The paper's claims, and whether they hold here."""
        top = self._scale.top
        base = {policy: _mean(run.overheads[:top]) for policy, run in self._base.items()}
        siena = self._siena_ranked
        fan_out = {row[1]: row[1:] for row in self.by_fan_out().rows}
        sizes = self.by_size()
        depth = self.depth_by_size()
        late = [move.ratio for move in self._base[Policy.PAPER].moves]
        late = late[len(late) * 2 // 3 :] or [math.nan]
        overhead = self._base[Policy.PAPER].over_time
        widest = max(self._scale.fan_outs)
        rows: list[tuple[Cell, ...]] = [
            _claim(
                "Fig. 7",
                "with reorganisation at most half",
                base[Policy.PAPER] / base[Policy.NONE],
                lambda value: value <= 0.5,
            ),
            _claim(
                "Fig. 7",
                "the same, our policy",
                base[Policy.OURS] / base[Policy.NONE],
                lambda value: value <= 0.5,
            ),
            _claim(
                "Fig. 8",
                "below Siena, mean over as many nodes as there are brokers",
                _mean(self._base[Policy.PAPER].overheads[: len(siena)]) / _mean(siena),
                lambda value: value < 1,
            ),
            _claim(
                "Fig. 9",
                "sharp drop from fan-out 2 to 4",
                _number(fan_out[4][2]) / _number(fan_out[2][2]),
                lambda value: value <= 0.75,
            ),
            _claim(
                "Fig. 9",
                f"then flat: change from 4 to {widest}, relative to that from 2 to 4",
                abs(_number(fan_out[widest][2]) - _number(fan_out[4][2]))
                / abs(_number(fan_out[4][2]) - _number(fan_out[2][2])),
                lambda value: value <= 0.5,
            ),
            _claim(
                "Fig. 9",
                f"Siena rises from 2 to {widest}",
                _number(fan_out[widest][4]) / _number(fan_out[2][4]),
                lambda value: value > 1,
            ),
            *(
                _claim(
                    "Fig. 10",
                    f"slope with reorganisation relative to without, {name}",
                    _slope(sizes, name, Policy.PAPER) / _slope(sizes, name, Policy.NONE),
                    lambda value: value < 1,
                )
                for name in ("fan-out 4", "fan-out 6")
            ),
            *(
                _claim(
                    "Fig. 12",
                    f"{policy}: error of the logarithmic fit relative to the linear one",
                    _fit_error(depth, policy, math.log)
                    / max(1e-12, _fit_error(depth, policy, float)),
                    holds,
                )
                for policy, holds in (
                    (Policy.PAPER, lambda value: value < 1),
                    (Policy.NONE, lambda value: value > 1),
                )
            ),
            _claim(
                "Fig. 15",
                "overhead at the end relative to the start",
                _mean([value for _, value in overhead[-5:]])
                / _mean([value for _, value in overhead[:5]]),
                lambda value: value < 1,
            ),
            _claim(
                "Fig. 16",
                "median ratio of the last third of the moves",
                statistics.median(late),
                lambda value: value < 1,
            ),
            *(
                _claim(
                    "Fig. 14",
                    f"{policy}: greatest overhead on XML data, at most 10%",
                    self.xml.worst(policy),
                    lambda value: value < 0.1,
                )
                for policy in (Policy.PAPER, Policy.OURS)
            ),
            _claim(
                "beyond",
                "XML data: our overhead relative to that of the paper's policy, at most",
                self.xml.relative(),
                lambda value: value <= 0.7,
            ),
            _claim(
                "beyond",
                "our overhead relative to that of the paper's policy",
                self._base[Policy.OURS].system_overhead / self._base[Policy.PAPER].system_overhead,
                lambda value: value <= 0.7,
            ),
        ]
        return ResultTable(
            "claims",
            "The paper's claims",
            ("figure", "claim", "measured", "holds"),
            tuple(rows),
            (self._note(), "One seed."),
        )


def _fault_cells(run: FaultRun) -> tuple[Cell, ...]:
    return (
        len(run.seconds),
        _quantile(run.seconds, 0.5),
        _quantile(run.seconds, 0.95),
        _quantile(run.seconds, 1.0),
        _quantile(run.delays, 0.99),
        _quantile(run.delays, 1.0),
        run.repairs,
    )


def _quantile(ordered: Sequence[float], share: float) -> Cell:
    if not ordered:
        return None
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _claim(
    figure: str, claim: str, measured: float, holds: Callable[[float], bool]
) -> tuple[Cell, ...]:
    return figure, claim, measured, "yes" if holds(measured) else "no"


def _table(
    key: str,
    title: str,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Cell, ...]],
    notes: tuple[str, ...],
    *,
    y_label: str,
) -> ResultTable:
    """A table of one panel, whose first column is the x axis."""
    return ResultTable(
        key,
        title,
        ("model", *columns),
        tuple(("buckets", *row) for row in rows),
        notes,
        Chart("model", columns[0], tuple(columns[1:]), y_label),
    )


def _at(values: Sequence[float], rank: int) -> float:
    return values[rank] if rank < len(values) else 0.0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else math.nan


def _number(cell: Cell) -> float:
    assert isinstance(cell, int | float)
    return float(cell)


def _slope(table: ResultTable, name: str, policy: Policy) -> float:
    """The slope of the least-squares line of overhead by number of nodes."""
    column = table.columns.index(policy)
    points = [(_number(row[1]), _number(row[column])) for row in table.rows if row[0] == name]
    slope, _ = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
    return slope


def _fit_error(table: ResultTable, policy: Policy, transform: Callable[[float], float]) -> float:
    """Squared error of the least-squares fit of depth by transformed number of nodes."""
    column = table.columns.index(policy)
    points = [(transform(_number(row[1])), _number(row[column])) for row in table.rows]
    slope, intercept = statistics.linear_regression([x for x, _ in points], [y for _, y in points])
    return sum((y - intercept - slope * x) ** 2 for x, y in points)
