"""Beyond the CoDD paper: joins by structure against joins by extensional overlap."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from penstock.lab.experiment_tables import Cell, ResultTable
from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.overlay_runs import OverlayRun, Policy, RunConfiguration
from penstock.lab.overlay.seed_estimates import estimate
from penstock.lab.overlay.xml_configuration import XmlConfiguration
from penstock.lab.overlay.xml_data import XML_DATA


@dataclass(frozen=True, slots=True)
class JoinScale:
    """The sizes of the comparison."""

    nodes: int
    documents: int
    primed_documents: int
    """Documents that are published during primed joins."""

    seeds: tuple[int, ...]


class JoinComparison:
    """Unprimed joins, as in all figures, against primed ones.

    Parameters
    ----------
    scale
        Sizes.
    run
        Runs a configuration, or returns the run if there was one.
    """

    def __init__(self, scale: JoinScale, run: Callable[[RunConfiguration], OverlayRun]) -> None:
        self._scale = scale
        self._run = run

    def table(self) -> ResultTable:
        """Overhead and depth by data, kind of join and policy."""
        rows = [
            (name, joins, str(policy), *self._measured(replace(base, policy=policy)))
            for name, unprimed in self._data()
            for joins, base in (
                ("unprimed", unprimed),
                ("primed", replace(unprimed, primed_documents=self._scale.primed_documents)),
            )
            for policy in Policy
        ]
        scale = self._scale
        return ResultTable(
            "joins",
            "Joins without statistics (unprimed) and by extensional overlap (primed)",
            (
                "data",
                "joins",
                "policy",
                "overhead, first documents",
                "first ±",
                "overhead",
                "overhead ±",
                "depth after the joins",
                "greatest",
                "depth by deliveries",
                "by receipts",
                "relative depth",
                "relative ±",
            ),
            tuple(rows),
            (
                f"{scale.nodes} nodes, {scale.documents:,} documents, {len(scale.seeds)} seeds of"
                f" the overlay; primed: {scale.primed_documents} further documents, which are not"
                " measured, are published during the joins.",
                "First documents: as many as the window has. Depth by deliveries and by receipts:"
                " means of the weighted average depths; relative: that by receipts to no"
                " reorganisation after the same joins, as Fig. 11 compares them.",
            ),
        )

    def _data(self) -> Iterator[tuple[str, RunConfiguration]]:
        nodes, documents = self._scale.nodes, self._scale.documents
        yield "buckets", BucketConfiguration(nodes=nodes, documents=documents)
        for data in XML_DATA:
            yield data.name, XmlConfiguration(data=data, nodes=nodes, documents=documents)

    def _measured(self, configuration: RunConfiguration) -> Iterator[Cell]:
        runs = [self._run(replace(configuration, seed=seed)) for seed in self._scale.seeds]
        plain = [
            self._run(replace(configuration, seed=seed, policy=Policy.NONE))
            for seed in self._scale.seeds
        ]
        first = estimate([run.first_overhead for run in runs])
        overhead = estimate([run.system_overhead for run in runs])
        relative = estimate(
            [
                run.mean_received_depth / without.mean_received_depth
                for run, without in zip(runs, plain, strict=True)
            ]
        )
        yield from (first.mean, first.half_width, overhead.mean, overhead.half_width)
        yield statistics.fmean(statistics.fmean(run.joined_depths) for run in runs)
        yield max(run.joined_depths[0] for run in runs)
        yield statistics.fmean(run.mean_depth for run in runs)
        yield statistics.fmean(run.mean_received_depth for run in runs)
        yield from (relative.mean, relative.half_width)
