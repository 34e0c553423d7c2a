"""The experiments of the piggyback paper: what annotations save, along chains and in trees.

The paper reports one figure, a factor of 2, without the parameters behind it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Final

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
from penstock.routing import AnnotationKind
from penstock.routing.limits import AGGREGATE_NODES_MAX

PAPER_SPEEDUP = 2
"""The factor by which annotations outperform the conventional method in the paper."""

Runs = RunStore[Setting, dict[str, Compared]]


@dataclass(frozen=True, slots=True)
class Varied:
    """Networks that differ in one property."""

    key: str
    """The key of their table."""

    title: str
    column: str
    """The name of the property."""

    label: str
    """What the property is, for a plot."""

    values: Sequence[float]
    settings: Sequence[Setting]
    """The network with each value."""


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
        documents = self.scale.documents
        if percent is not None:
            documents = self.scale.selective_documents
        elif routers * per_router >= self.scale.large_from:
            documents = self.scale.large_documents
        return Setting(
            shape=shape,
            routers=routers,
            per_router=per_router,
            documents=documents,
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
                    *map(self._with_bound, scale.bounds),
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
        return {"complete": AGGREGATE_NODES_MAX, "merged": self.scale.bounds[0]}

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
                f" {self.scale.bounds[0]:,} pattern nodes.",
                *_NOTES,
            ),
        )

    def by_length(self) -> Varied:
        """Chains of routers."""
        lengths = self.scale.lengths
        settings = [self.setting("chain", length, self.scale.per_router) for length in lengths]
        label = "routers from publisher to the end"
        return Varied("length", "Chains of routers", "routers", label, lengths, settings)

    def by_tree(self) -> Varied:
        """Complete binary trees; documents are published at the root."""
        counts = [2**depth - 1 for depth in self.scale.tree_depths]
        settings = [self.setting("tree", each, self.scale.per_tree_router) for each in counts]
        return Varied("tree", "Binary trees of routers", "routers", "routers", counts, settings)

    def by_subscriptions(self) -> Varied:
        """Subscriptions of each router."""
        counts = self.scale.subscriptions
        settings = [self.setting("chain", 4, count) for count in counts]
        title = "Subscriptions of each router, chain of 4 routers"
        label = "subscriptions a router"
        return Varied("subscriptions", title, "subscriptions", label, counts, settings)

    def by_selectivity(self) -> Varied:
        """Shares of the documents that the subscribers of each router want."""
        percents = self.scale.percents
        settings = [self._selective(each) for each in percents]
        title = "Documents that the subscribers of each router want, chain of 4 routers"
        return Varied("selectivity", title, "wanted %", "documents wanted (%)", percents, settings)

    def by_bound(self) -> Varied:
        """Bounds of announced sets."""
        bounds = self.scale.bounds
        settings = [self._with_bound(each) for each in bounds]
        title = "Bounds of announced sets, chain of 4 routers"
        return Varied("bound", title, "bound", "pattern nodes of a set", bounds, settings)

    def speedups(self, varied: Varied) -> ResultTable:
        """Routing time without annotations and with those that pay."""
        rows: list[tuple[Cell, ...]] = []
        for value, setting in zip(varied.values, varied.settings, strict=True):
            found = self._runs(setting)
            none, all_ = found[NONE], found[ALL]
            shares = (min(none.wanted), max(none.wanted))
            rows.append(
                (
                    varied.label,
                    value,
                    none.subscriptions,
                    *shares,
                    none.per_document,
                    none.spread,
                    *_cells(all_),
                    none.per_document / all_.per_document,
                    PAPER_SPEEDUP,
                )
            )
        return ResultTable(
            varied.key,
            varied.title,
            (
                "varied",
                varied.column,
                *_FOUND,
                "none µs",
                "none spread %",
                *_COLUMNS,
                "speedup",
                "paper",
            ),
            tuple(rows),
            (
                "The first time and spread are those without annotations; the others are those with"
                " all kinds that pay.",
                "Subscriptions, least and most wanted: of each router, as they were measured.",
                *_NOTES,
            ),
            Chart("varied", varied.column, ("speedup", "paper"), "speedup of routing time"),
        )

    def shares(self, varied: Varied) -> ResultTable:
        """What is not read, what annotations add, and what is forwarded in vain."""
        rows: list[tuple[Cell, ...]] = []
        for column, share_of in _SHARES.items():
            for value, setting in zip(varied.values, varied.settings, strict=True):
                found = self._runs(setting)
                rows.append((column, value, *(share_of(found[side]) for side in _PLOTTED)))
        return ResultTable(
            f"{varied.key}-shares",
            varied.title,
            ("share", varied.column, *_PLOTTED),
            tuple(rows),
            ("Not read, false forwards: of the documents that were forwarded; header: of bytes.",),
            Chart("share", varied.column, _PLOTTED, "%"),
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
                "bound",
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
                    setting.bound,
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


_FOUND = ("subscriptions of each", "least wanted %", "most wanted %")
_COLUMNS = (
    "µs a document",
    "spread %",
    "µs a hop",
    "transport µs",
    "not read %",
    "read in part %",
    "header %",
    "false forwards %",
)
_NOTES = (
    "Routing time is CPU time of all routers per published document, and per document and router"
    " that received it. Spread: of the repeats. Transport: of a document over all of its links.",
    "Not read and read in part: of the documents from the second router on.",
)
_PLOTTED = (str(AnnotationKind.MATCH_LIST), "all, fixed", ALL)
_SHARES: Final[Mapping[str, Callable[[Compared], float]]] = {
    "not read %": attrgetter("not_read"),
    "header %": attrgetter("header"),
    "false forwards %": attrgetter("false_forwards"),
}


def _cells(compared: Compared) -> tuple[Cell, ...]:
    return (
        compared.per_document,
        compared.spread,
        compared.microseconds,
        compared.transport,
        compared.not_read,
        compared.read_in_part,
        compared.header,
        compared.false_forwards,
    )


def run(*, quick: bool, progress: Progress, finished: Path | None = None) -> ExperimentResults:
    """Measure all tables; finished settings are kept in a folder and not measured again."""
    experiment = Experiment(QUICK if quick else FULL, progress, finished)
    experiment.measure()
    varied = (
        experiment.by_length(),
        experiment.by_tree(),
        experiment.by_subscriptions(),
        experiment.by_selectivity(),
        experiment.by_bound(),
    )
    tables = (
        experiment.by_kind(),
        *map(experiment.speedups, varied),
        *map(experiment.shares, varied),
        experiment.grid(),
        experiment.transport(),
    )
    return ExperimentResults("piggyback", quick, this_machine(), tables)
