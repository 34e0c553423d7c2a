"""The experiments of the piggyback paper: what annotations save, along chains and in trees.

The paper reports one figure, a factor of 2, without the parameters behind it.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from pathlib import Path

from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.overlay.run_store import RunStore
from penstock.lab.routing.piggyback_runs import Compared, SettingRunner
from penstock.lab.routing.piggyback_settings import (
    ALL,
    FULL,
    NONE,
    QUICK,
    Scale,
    Setting,
    Shape,
)
from penstock.lab.routing.transport import transport_seconds
from penstock.lab.workload import workload
from penstock.routing.limits import AGGREGATE_NODES_MAX

PAPER_SPEEDUP = 2
"""The factor by which annotations outperform the conventional method in the paper."""

Runs = RunStore[Setting, dict[str, Compared]]


class Experiment:
    """The tables, each of which varies one property of a network.

    Parameters
    ----------
    scale
        The sizes.
    progress
        Reports what is being measured.
    finished
        The folder of finished settings; a setting in it is not measured again.
    """

    def __init__(self, scale: Scale, progress: Progress, finished: Path | None = None) -> None:
        self.scale = scale
        self._progress = progress
        self._runs: Runs = RunStore(SettingRunner(progress), finished)

    def setting(
        self,
        shape: Shape,
        routers: int,
        per_router: int,
        *,
        bound: int = AGGREGATE_NODES_MAX,
        percent: float | None = None,
    ) -> Setting:
        """A setting of this scale."""
        is_large = routers * per_router >= self.scale.large_from
        return Setting(
            shape=shape,
            routers=routers,
            per_router=per_router,
            documents=self.scale.large_documents if is_large else self.scale.documents,
            repeats=self.scale.repeats,
            pool=self.scale.pool,
            bound=bound,
            percent=percent,
        )

    def settings(self) -> list[Setting]:
        """All settings, each once."""
        scale = self.scale
        return list(
            dict.fromkeys(
                (
                    *(self._with_bound(bound) for bound in self._bounds().values()),
                    *(self.setting("chain", each, scale.per_router) for each in scale.lengths),
                    *(
                        self.setting("tree", 2**depth - 1, scale.per_tree_router)
                        for depth in scale.tree_depths
                    ),
                    *(self._selective(each) for each in scale.percents),
                    # The largest ones last: they are the most likely not to finish.
                    *(self.setting("chain", 4, each) for each in scale.subscriptions),
                )
            )
        )

    def measure(self) -> None:
        """Measures all settings that are not finished."""
        settings = self.settings()
        for number, setting in enumerate(settings):
            self._progress(f"lab piggyback: {number} of {len(settings)} settings measured")
            self._runs(setting)

    def _bounds(self) -> dict[str, int]:
        return {"complete": AGGREGATE_NODES_MAX, "merged": self.scale.merged_nodes}

    def _with_bound(self, bound: int) -> Setting:
        return self.setting("chain", 4, self.scale.per_router, bound=bound)

    def _selective(self, percent: float) -> Setting:
        return self.setting("chain", 4, self.scale.per_router, percent=percent)

    # Tables

    def by_kind(self) -> ResultTable:
        """Each kind by itself, with announced sets that are complete or merged."""
        return ResultTable(
            "kinds",
            "Kinds of annotations, chain of 4 routers",
            ("announced sets", "annotations", *_COLUMNS, "speedup"),
            tuple(
                (name, *row)
                for name, bound in self._bounds().items()
                for row in self._rows_of(self._with_bound(bound))
            ),
            (
                f"{self.scale.per_router} subscriptions a router; merged: a bound of"
                f" {self.scale.merged_nodes:,} pattern nodes.",
                *_NOTES,
            ),
        )

    def by_length(self) -> ResultTable:
        """Chains of routers."""
        settings = [
            self.setting("chain", length, self.scale.per_router) for length in self.scale.lengths
        ]
        return self._speedups(
            "length",
            "Chains of routers",
            "routers",
            [(setting.routers, *self._both(setting)) for setting in settings],
            "routers from publisher to the end",
        )

    def by_tree(self) -> ResultTable:
        """Complete binary trees; documents are published at the root."""
        settings = [
            self.setting("tree", 2**depth - 1, self.scale.per_tree_router)
            for depth in self.scale.tree_depths
        ]
        rows = [(setting.routers, *self._both(setting)) for setting in settings]
        return self._speedups("tree", "Binary trees of routers", "routers", rows, "routers")

    def by_subscriptions(self) -> ResultTable:
        """Subscriptions of each router."""
        settings = [self.setting("chain", 4, count) for count in self.scale.subscriptions]
        return self._speedups(
            "subscriptions",
            "Subscriptions of each router, chain of 4 routers",
            "subscriptions",
            [(setting.per_router, *self._both(setting)) for setting in settings],
            "subscriptions a router",
        )

    def by_selectivity(self) -> ResultTable:
        """Shares of the documents that the subscribers of each router want."""
        return self._speedups(
            "selectivity",
            "Documents that the subscribers of each router want, chain of 4 routers",
            "wanted %",
            [(each, *self._both(self._selective(each))) for each in self.scale.percents],
            "documents wanted (%)",
        )

    def grid(self) -> ResultTable:
        """All settings with each choice of annotations."""
        return ResultTable(
            "grid",
            "All networks with each choice of annotations",
            (
                "network",
                "routers",
                "subscriptions",
                "wanted %",
                "announced sets",
                "documents",
                "annotations",
                *_COLUMNS,
                "speedup",
            ),
            tuple(
                (
                    setting.shape,
                    setting.routers,
                    setting.per_router,
                    setting.percent,
                    "merged" if setting.bound < AGGREGATE_NODES_MAX else "complete",
                    setting.documents,
                    *row,
                )
                for setting in self.settings()
                for row in self._rows_of(setting)
            ),
            ("Subscriptions are those of each router.", *_NOTES),
        )

    def _rows_of(self, setting: Setting) -> Iterator[tuple[Cell, ...]]:
        """One row for each choice of annotations."""
        found = self._runs(setting)
        for side, compared in found.items():
            yield side, *_cells(compared), found[NONE].per_document / compared.per_document

    def _both(self, setting: Setting) -> tuple[Cell, ...]:
        found = self._runs(setting)
        none, all_ = found[NONE], found[ALL]
        return (
            none.per_document,
            *_cells(all_),
            none.per_document / all_.per_document,
            PAPER_SPEEDUP,
        )

    def _speedups(
        self, key: str, title: str, varied: str, rows: list[tuple[Cell, ...]], label: str
    ) -> ResultTable:
        return ResultTable(
            key,
            title,
            ("varied", varied, "none µs", *_COLUMNS, "speedup", "paper"),
            tuple((label, *row) for row in rows),
            (
                "The first time is that without annotations; the others are those with all kinds"
                " that pay.",
                *_NOTES,
            ),
            Chart("varied", varied, ("speedup", "paper"), "speedup of routing time"),
        )

    def transport(self) -> ResultTable:
        """The time that links take, for comparison."""
        self._progress("lab piggyback: transport")
        contents = list(workload("paths-sparse").documents(self.scale.documents, seed=11))
        seconds = statistics.median(transport_seconds(contents) for _ in range(self.scale.repeats))
        size = statistics.mean(map(len, contents)) / 1e3
        return ResultTable(
            "transport",
            "Transport of a document over a link, not part of routing time",
            ("document KB", "µs"),
            ((size, seconds * 1e6),),
            ("One link over loopback, both ends in one process, with checksums, without TLS.",),
        )


_COLUMNS = (
    "µs a document",
    "µs a hop",
    "not read %",
    "read in part %",
    "header %",
    "false forwards %",
)
_NOTES = (
    "Routing time is CPU time of all routers per published document, and per document and router"
    " that received it.",
    "Not read and read in part: of the documents from the second router on.",
)


def _cells(compared: Compared) -> tuple[Cell, ...]:
    return (
        compared.per_document,
        compared.microseconds,
        compared.not_read,
        compared.read_in_part,
        compared.header,
        compared.false_forwards,
    )


def run(*, quick: bool, progress: Progress, finished: Path | None = None) -> ExperimentResults:
    """Measure all tables; finished settings are kept in a folder and not measured again."""
    experiment = Experiment(QUICK if quick else FULL, progress, finished)
    experiment.measure()
    tables = (
        experiment.by_kind(),
        experiment.by_length(),
        experiment.by_tree(),
        experiment.by_subscriptions(),
        experiment.by_selectivity(),
        experiment.grid(),
        experiment.transport(),
    )
    return ExperimentResults("piggyback", quick, this_machine(), tables)
