"""Beyond the CoDD paper: what each of our policies contributes, one setting at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.overlay_runs import (
    OUR_EXAMINATIONS,
    OUR_MOVES,
    OUR_THRESHOLD,
    OverlayRun,
    Policy,
    RunConfiguration,
)
from penstock.lab.overlay.seed_estimates import estimate
from penstock.overlay import ChildChoice, PeerOptions, Placement


@dataclass(frozen=True, kw_only=True)
class PolicyConfiguration(BucketConfiguration):
    """A configuration whose settings of reorganisation are given one by one."""

    policy: Policy = Policy.PAPER
    placement: Placement = Placement.OVERHEAD
    child_choice: ChildChoice = ChildChoice.LEAST_OVERLAP
    examinations: int = 1
    moves_per_round: int = 1
    may_displace: bool = False

    @property
    def displaces(self) -> bool:
        """Whether a peer that moves by path cost may take the place of another."""
        return self.may_displace

    def peer_options(self) -> PeerOptions:
        """The paper's settings, except where others are given."""
        return replace(
            super().peer_options(),
            overhead_threshold=self.threshold,
            examinations=self.examinations,
            moves_per_round=self.moves_per_round,
            placement=self.placement,
            child_choice=self.child_choice,
        )


@dataclass(frozen=True, slots=True)
class PolicyScale:
    """The sizes of the comparison."""

    nodes: int
    documents: int
    seeds: tuple[int, ...]


class PolicyComparison:
    """Placement by choice of the child at the paper's settings, then the step to ours.

    Parameters
    ----------
    scale
        Sizes.
    run
        Runs a configuration, or returns the run if there was one.
    """

    def __init__(self, scale: PolicyScale, run: Callable[[RunConfiguration], OverlayRun]) -> None:
        self._scale = scale
        self._run = run

    def _base(self) -> PolicyConfiguration:
        return PolicyConfiguration(nodes=self._scale.nodes, documents=self._scale.documents)

    def combinations(self) -> ResultTable:
        """The four combinations of placement and choice of the child."""
        base = self._base()
        rows: list[tuple[Cell, ...]] = [
            ("no reorganisation", "", *self._measured(replace(base, policy=Policy.NONE)))
        ]
        rows += [
            (
                str(placement),
                str(choice),
                *self._measured(replace(base, placement=placement, child_choice=choice)),
            )
            for placement in (Placement.OVERHEAD, Placement.PATH_COST)
            for choice in (ChildChoice.LEAST_OVERLAP, ChildChoice.MARGINAL)
        ]
        return ResultTable(
            "policies",
            "Placement and choice of the child, at the paper's settings",
            ("placement", "child that is asked", *_MEASURES),
            tuple(rows),
            (
                self._note(),
                f"All at threshold {base.threshold}, one examination an interval of"
                f" {base.reorganise_every} documents, one child at a time, nobody displaced.",
                _MEASURES_NOTE,
            ),
        )

    def steps(self) -> ResultTable:
        """From the paper's settings to ours, one more changed in each row."""
        rows: list[tuple[Cell, ...]] = [
            (name, *self._measured(configuration)) for name, configuration in self._settings()
        ]
        return ResultTable(
            "policy-steps",
            "From the paper's settings of reorganisation to ours",
            ("setting", *_MEASURES),
            tuple(rows),
            (self._note(), "Each row has the settings of the rows above it, too.", _MEASURES_NOTE),
        )

    def _settings(self) -> Iterator[tuple[str, PolicyConfiguration]]:
        step = self._base()
        yield f"the paper's: {step.placement}, {step.child_choice}", step
        step = replace(step, placement=Placement.PATH_COST)
        yield f"placement by {step.placement}", step
        step = replace(step, child_choice=ChildChoice.MARGINAL)
        yield f"child of largest {step.child_choice}", step
        step = replace(step, may_displace=True)
        yield "displacement", step
        step = replace(step, threshold=OUR_THRESHOLD)
        yield f"threshold {OUR_THRESHOLD}", step
        step = replace(step, moves_per_round=OUR_MOVES)
        yield f"up to {OUR_MOVES} children at once", step
        step = replace(step, examinations=OUR_EXAMINATIONS)
        yield f"{OUR_EXAMINATIONS} examinations an interval", step

    def _measured(self, configuration: PolicyConfiguration) -> tuple[Cell, ...]:
        runs = [self._run(replace(configuration, seed=seed)) for seed in self._scale.seeds]
        cells: list[Cell] = []
        for values in (
            [run.system_overhead for run in runs],
            [run.late_overhead for run in runs],
            [run.extraneous / configuration.documents for run in runs],
        ):
            found = estimate(values)
            cells += [found.mean, found.half_width]
        cells.append(estimate([float(run.parent_changes) for run in runs]).mean)
        cells.append(estimate([run.mean_depth for run in runs]).mean)
        return tuple(cells)

    def _note(self) -> str:
        base = self._base()
        return (
            f"Bucket model, {base.nodes} nodes, {base.documents:,} documents, fan-out"
            f" {base.fan_out}, a change every {base.change_every} documents;"
            f" {len(self._scale.seeds)} seeds."
        )


_MEASURES = (
    "overhead",
    "overhead ±",
    "late overhead",
    "late ±",
    "extraneous transfers a document",
    "extraneous ±",
    "moves",
    "mean depth",
)
_MEASURES_NOTE = (
    "Means over seeds, ± half the 95% confidence interval. Late: the second half of the documents."
)
