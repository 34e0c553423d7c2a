"""The experiments of the CoDD paper, Figures 7 to 16, and beyond it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.codd_claims import (
    REORGANISED,
    SIENA,
    SIENA_PASSED_ON,
    Claims,
    check_claims,
)
from penstock.lab.overlay.fault_runs import FaultConfiguration, FaultRun, run_faults
from penstock.lab.overlay.join_comparison import JoinComparison, JoinScale
from penstock.lab.overlay.large_overlay import LargeConfiguration, run_large
from penstock.lab.overlay.overlay_runs import (
    OverlayRun,
    Policy,
    RunConfiguration,
    SienaRun,
    run_overlay,
    run_siena,
)
from penstock.lab.overlay.policy_comparison import PolicyComparison, PolicyScale
from penstock.lab.overlay.run_store import RunStore
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
    faults: tuple[FaultConfiguration, ...]
    """Runs with churn and with a disaster."""

    large: tuple[LargeConfiguration, ...]
    """Runs with many peers."""

    policies: PolicyScale
    joins: JoinScale


FULL = Scale(
    BucketConfiguration(),
    (2, 3, 4, 6, 8, 10),
    (100, 200, 300, 400, 500),
    4_000,
    100,
    XmlScale(400, 4_000, (2, 4, 6, 10)),
    (
        *(FaultConfiguration(nodes=1_000, churn_minutes=10, seed=seed) for seed in range(1, 6)),
        FaultConfiguration(nodes=10_000, churn_minutes=3),
    ),
    tuple(LargeConfiguration(nodes=nodes, documents=600) for nodes in (1_000, 3_000, 10_000)),
    PolicyScale(400, 2_000, (1, 2, 3, 4, 5)),
    JoinScale(400, 1_000, 200, (1, 2, 3)),
)
QUICK = Scale(
    BucketConfiguration(nodes=100, documents=2_000),
    (2, 4, 6),
    (40, 80, 120),
    1_000,
    25,
    XmlScale(120, 1_200, (2, 4, 6)),
    tuple(FaultConfiguration(nodes=150, churn_minutes=3, seed=seed) for seed in (1, 2)),
    (LargeConfiguration(nodes=300, documents=400),),
    PolicyScale(100, 600, (1, 2)),
    JoinScale(80, 300, 100, (1, 2)),
)

_SIENA_NOTE = (
    "Siena: brokers only. A document is extraneous for a broker that does not subscribe to it"
    " itself, as for a peer; on the second line only if none of its clients does either."
)

DISTRIBUTION_POINTS = 40
"""Points of a figure that shows a distribution over nodes."""


def run(*, quick: bool, progress: Progress, finished: Path | None = None) -> ExperimentResults:
    """Run the experiments, on the bucket model and on XML data.

    Finished runs are kept in a folder, if one is given, and are not repeated.
    """
    codd = CoddExperiments(QUICK if quick else FULL, progress, finished)
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
        codd.policies.combinations(),
        codd.policies.steps(),
        codd.joins.table(),
        codd.faults(),
        codd.large(),
        codd.claims(),
    )
    pictures = (("trees", codd.trees()),)
    return ExperimentResults("codd", quick, this_machine(), tables, pictures=pictures)


class CoddExperiments:
    """The experiments; runs that several figures need are made once."""

    def __init__(self, scale: Scale, progress: Progress, finished: Path | None = None) -> None:
        self._scale = scale
        self._progress = progress
        self._runs: RunStore[RunConfiguration, OverlayRun] = RunStore(run_overlay, finished)
        self._siena: RunStore[RunConfiguration, SienaRun] = RunStore(
            run_siena, None if finished is None else finished / "siena"
        )
        self._faults = RunStore(run_faults, finished)
        self._large = RunStore(run_large, finished)
        self.xml = XmlFigures(scale.xml, self._run)
        self.joins = JoinComparison(scale.joins, self._run)
        self.policies = PolicyComparison(scale.policies, self._run)

    def _run(self, configuration: RunConfiguration) -> OverlayRun:
        self._progress(
            f"lab codd: {configuration.policy}, {configuration.nodes} nodes,"
            f" fan-out {configuration.fan_out}"
        )
        return self._runs(configuration)

    @cached_property
    def _base(self) -> dict[Policy, OverlayRun]:
        return {policy: self._run(replace(self._scale.base, policy=policy)) for policy in Policy}

    @cached_property
    def _base_siena(self) -> SienaRun:
        return self._siena(self._scale.base)

    def _notes(self) -> tuple[str, ...]:
        """The parameters of the default configuration, and those of each policy that is shown."""
        base = self._scale.base
        data = (
            f"{base.nodes} nodes, {base.documents:,} documents, k = {base.k}, selectivity"
            f" {base.selectivity}, a change every {base.change_every} documents, fan-out"
            f" {base.fan_out}."
        )
        return data, *_policy_notes(base, REORGANISED)

    def _sweep_notes(self) -> tuple[str, ...]:
        return (
            f"{self._scale.sweep_documents:,} documents.",
            *_policy_notes(self._scale.base, REORGANISED),
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
            self._notes(),
            y_label="overhead",
        )

    def against_siena(self) -> ResultTable:
        """Figure 8."""
        rows = [
            (
                rank + 1,
                _at(self._base_siena.overheads, rank),
                _at(self._base_siena.passed_on, rank),
                *(
                    _at(self._base[policy].overheads, rank)
                    for policy in (Policy.PAPER, Policy.OURS)
                ),
            )
            for rank in range(max(self._scale.top, len(self._base_siena.overheads)))
        ]
        return _table(
            "figure-8",
            "Overhead of brokers and of peers by rank (Fig. 8)",
            ("rank", SIENA, SIENA_PASSED_ON, Policy.PAPER, Policy.OURS),
            rows,
            (*self._notes(), _SIENA_NOTE),
            y_label="overhead",
        )

    def _sweep(self, configuration: BucketConfiguration) -> tuple[float, ...]:
        values = [
            self._run(replace(configuration, policy=policy)).system_overhead for policy in Policy
        ]
        siena = self._siena(configuration)
        return (*values, siena.overhead, siena.passed_on_overhead)

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
            ("fan-out", *Policy, SIENA, SIENA_PASSED_ON),
            rows,
            (*self._sweep_notes(), _SIENA_NOTE),
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
            ("fan-out", "nodes", *Policy, SIENA, SIENA_PASSED_ON),
            tuple(rows),
            (*self._sweep_notes(), _SIENA_NOTE),
            Chart(
                "fan-out", "nodes", (*Policy, SIENA, SIENA_PASSED_ON), "overhead", one_scale=True
            ),
        )

    def depth_distribution(self) -> ResultTable:
        """Figure 11."""
        count = self._scale.base.nodes
        points = min(count, DISTRIBUTION_POINTS)
        ranks = [round(index * (count - 1) / (points - 1)) for index in range(points)]
        rows: list[tuple[Cell, ...]] = [
            (weight, rank + 1, *(_at(depths, rank) for depths in by_policy))
            for weight, by_policy in (
                ("documents received", [run.received_depths for run in self._base.values()]),
                ("documents delivered", [run.depths for run in self._base.values()]),
            )
            for rank in ranks
        ]
        return ResultTable(
            "figure-11",
            "Weighted average depth of nodes by rank (Fig. 11)",
            ("weight", "rank", *Policy),
            tuple(rows),
            (*self._notes(), "The paper weights depths by the documents that a node received."),
            Chart("weight", "rank", tuple(Policy), "depth", one_scale=True),
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
            self._sweep_notes(),
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
            self._notes(),
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
            (*self._notes(), "Medians of consecutive moves."),
            Chart("policy", "move", ("median ratio",), "ratio"),
        )

    def faults(self) -> ResultTable:
        """Beyond the paper: churn, and a disaster."""
        rows: list[tuple[Cell, ...]] = []
        for configuration in self._scale.faults:
            nodes, seed = configuration.nodes, configuration.seed
            self._progress(f"lab codd: churn and disaster, {nodes:,} peers, seed {seed}")
            churn, disaster = self._faults(configuration)
            minutes = f"churn of 10% a minute, {configuration.churn_minutes} minutes"
            rows.append((minutes, nodes, seed, *_fault_cells(churn)))
            rows.append(("disaster", nodes, seed, *_fault_cells(disaster)))
        return ResultTable(
            "faults",
            "Time without service, delay of documents, and messages that repair the tree",
            (
                "fault",
                "peers",
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
                "Fan-out 6, a document a second, heartbeats every 5 s, dead after 16 s of silence."
                " Nothing was lost, repeated or out of order.",
                "Churn: half of those who leave stop without notice. Time from the loss of the"
                " parent, which is noticed late, to the next; messages a peer and minute.",
                "Disaster: a third of the peers stop at once, and a region of a sixth is cut off"
                " for 60 s. Time from there until a survivor is connected to the source and lacks"
                " nothing; messages a survivor until all are.",
            ),
        )

    def large(self) -> ResultTable:
        """Beyond the paper: thousands of peers."""
        rows: list[tuple[Cell, ...]] = []
        for configuration in self._scale.large:
            self._progress(f"lab codd: {configuration.nodes:,} peers")
            found = self._large(configuration)
            rows.append(
                (
                    configuration.nodes,
                    found.joined_seconds,
                    found.join_messages,
                    statistics.fmean(found.depths),
                    found.depths[-1],
                    found.first_overhead,
                    found.last_overhead,
                    found.moves,
                    found.control_messages,
                    found.join_cpu_seconds,
                    1_000 * found.document_cpu_seconds,
                    found.memory_mib,
                )
            )
        first = self._scale.large[0]
        return ResultTable(
            "large",
            "Joins, dissemination and reorganisation of many peers, by our policy",
            (
                "peers",
                "seconds to join",
                "messages a join",
                "mean depth",
                "greatest depth",
                "overhead, first interval",
                "overhead, last interval",
                "moves",
                "messages a peer and interval",
                "CPU s of all joins",
                "CPU ms a document",
                "MiB",
            ),
            tuple(rows),
            (
                f"Bucket model without changes, fan-out {first.fan_out}, {first.documents:,}"
                f" documents, reorganisation every {first.interval} documents.",
                "Fifty peers join a second; virtual time from the last join until everybody has a"
                " parent. Messages besides documents and heartbeats. CPU time and memory are those"
                " of the simulation; nothing else depends on the machine.",
            ),
        )

    def claims(self) -> ResultTable:
        """The paper's claims, and whether they hold here."""
        rows = check_claims(
            Claims(
                base=self._base,
                siena=self._base_siena,
                top=self._scale.top,
                by_fan_out=self.by_fan_out(),
                by_size=self.by_size(),
                depth_by_size=self.depth_by_size(),
                xml=self.xml,
            )
        )
        return ResultTable(
            "claims",
            "The paper's claims",
            ("figure", "claim", "policy", "measured", "holds"),
            tuple(rows),
            (*self._notes(), "One seed."),
        )


def _policy_notes(base: RunConfiguration, policies: Sequence[Policy]) -> Iterator[str]:
    """The settings of reorganisation, which differ between the columns of a table."""
    for policy in policies:
        options = replace(base, policy=policy).peer_options()
        count, moves = options.examinations, options.moves_per_round
        yield (
            f"{policy}: reorganisation every {base.reorganise_every} documents at threshold"
            f" {options.overhead_threshold}, examined {'once' if count == 1 else f'{count} times'}"
            f" an interval; {'one child' if moves == 1 else f'up to {moves} children'} at once, by"
            f" {options.child_choice}, placed by {options.placement}."
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
