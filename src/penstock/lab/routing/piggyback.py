"""The experiments of the piggyback paper: what annotations save, along chains and in trees.

The paper reports one figure, a factor of 2, without the parameters behind it.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.documents import Document, Header
from penstock.lab.bench.machine_description import this_machine
from penstock.lab.bench.report import Progress
from penstock.lab.experiment_tables import Cell, Chart, ExperimentResults, ResultTable
from penstock.lab.routing.measured_network import (
    Links,
    MeasuredNetwork,
    Measurement,
    binary_tree,
    chain,
)
from penstock.lab.routing.transport import transport_seconds
from penstock.lab.workload import workload
from penstock.matching import SubscriptionIndex
from penstock.routing import NO_KINDS, AnnotationKind, AnnotationOptions, LocalSubscription
from penstock.routing.limits import AGGREGATE_NODES_MAX

PAPER_SPEEDUP = 2
"""The factor by which annotations outperform the conventional method in the paper."""

NONE = AnnotationOptions(kinds=NO_KINDS)
ALL = AnnotationOptions()


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of the experiments."""

    documents: int
    repeats: int
    lengths: tuple[int, ...]
    tree_depths: tuple[int, ...]
    per_router: int
    """Subscriptions of each router of a chain, where it does not vary."""

    per_tree_router: int
    """Subscriptions of each router of a tree. All cores are in one process, and every router of 63
    has announced sets over the subscriptions of the others: with 1,000 each, they take tens of
    gigabytes."""

    subscriptions: tuple[int, ...]
    percents: tuple[float, ...]
    """Shares of the documents that the subscribers of a router want."""

    pool: int
    """Queries from which those of a given selectivity are chosen."""

    merged_nodes: int
    """A bound of announced sets at which patterns are merged."""


FULL = Scale(
    documents=300,
    repeats=3,
    lengths=(2, 3, 4, 5, 6, 7, 8),
    tree_depths=(2, 3, 4, 5, 6),
    per_router=1_000,
    per_tree_router=100,
    subscriptions=(100, 1_000, 10_000, 100_000),
    percents=(0.1, 1, 5, 20, 50),
    pool=100_000,
    merged_nodes=4_000,
)
QUICK = Scale(
    documents=40,
    repeats=2,
    lengths=(2, 4, 8),
    tree_depths=(2, 3),
    per_router=60,
    per_tree_router=60,
    subscriptions=(20, 100),
    percents=(5, 50),
    pool=2_000,
    merged_nodes=200,
)


@dataclass(frozen=True, slots=True)
class Compared:
    """A network measured with one choice of annotations."""

    microseconds: float
    """Routing time per document and router that received it, the median of the repeats."""

    per_document: float
    """Routing time per published document, at all routers."""

    not_read: float
    """Percentage of the documents, from the second router on."""

    read_in_part: float
    header: float
    """Bytes of annotations, as a percentage of the documents."""

    false_forwards: float
    """Percentage of the forwarded documents."""

    deliveries: int


class Experiment:
    """Networks that route the same documents with and without annotations."""

    def __init__(self, scale: Scale, progress: Progress) -> None:
        self.scale = scale
        self.progress = progress
        news = workload("paths-sparse")
        self.contents = list(news.documents(scale.documents, seed=11))
        self.queries = news.queries(max(scale.pool, 8 * scale.per_router), seed=11)
        self._round = 0

    def network(
        self,
        links: Links,
        per_router: int,
        *,
        bound: int = AGGREGATE_NODES_MAX,
        chosen: Sequence[Sequence[str]] | None = None,
    ) -> MeasuredNetwork:
        """Routers with subscriptions, ``per_router`` each or those that are given."""
        network = MeasuredNetwork(links, aggregate_nodes=bound)
        count = len(network.routers)
        queries = self.queries
        if chosen is None and count * per_router > len(queries):
            queries = workload("paths-sparse").queries(count * per_router, seed=11)
        own = chosen or [
            queries[number * per_router : (number + 1) * per_router] for number in range(count)
        ]
        network.subscribe(
            {
                name: [
                    LocalSubscription(id=f"{name}/{number}", subscriber=name, query=query)
                    for number, query in enumerate(of_router)
                ]
                for name, of_router in zip(network.routers, own, strict=True)
            }
        )
        return network

    def compare(
        self, network: MeasuredNetwork, sides: Iterable[AnnotationOptions]
    ) -> list[Compared]:
        """Publish the documents at the first router with each choice, in turns."""
        given = list(sides)
        measured: list[list[Measurement]] = [[] for _ in given]
        counts = [(0, 0, 0) for _ in given]
        for turn in range(1 + self.scale.repeats):
            for side, options in enumerate(given):
                network.use(options)
                before = _counts(network)
                measurement = network.publish("r0", self._documents())
                if turn > 0:  # the first round builds automata and filters
                    measured[side].append(measurement)
                    after = zip(counts[side], before, _counts(network), strict=True)
                    counts[side] = tuple(total + new - old for total, old, new in after)  # type: ignore[assignment]
        return [
            _compared(rounds, of_side) for rounds, of_side in zip(measured, counts, strict=True)
        ]

    def _documents(self) -> list[Document]:
        self._round += 1
        return [
            Document(content, Header(publisher="lab", id=f"{self._round}/{number}"))
            for number, content in enumerate(self.contents)
        ]

    # Tables

    def by_kind(self) -> ResultTable:
        """Each kind by itself, with announced sets that are complete or merged."""
        sides = {
            "none": NONE,
            **{
                str(kind): AnnotationOptions(kinds=frozenset({kind}), is_adaptive=False)
                for kind in AnnotationKind
            },
            "ps + ns + pd + nd": AnnotationOptions(
                kinds=frozenset(AnnotationKind)
                - {AnnotationKind.MATCH_LIST, AnnotationKind.SKELETON},
                is_adaptive=False,
            ),
            "all, fixed": AnnotationOptions(is_adaptive=False),
            "all that pay": ALL,
        }
        rows: list[tuple[Cell, ...]] = []
        bounds = {"complete": AGGREGATE_NODES_MAX, "merged": self.scale.merged_nodes}
        for name, bound in bounds.items():
            self.progress(f"lab piggyback: kinds of annotations, announced sets {name}")
            network = self.network(chain(4), self.scale.per_router, bound=bound)
            found = self.compare(network, sides.values())
            for side, compared in zip(sides, found, strict=True):
                assert compared.deliveries == found[0].deliveries, "deliveries are identical"
                speedup = found[0].per_document / compared.per_document
                rows.append((name, side, *_cells(compared), speedup))
        return ResultTable(
            "kinds",
            "Kinds of annotations, chain of 4 routers",
            ("announced sets", "annotations", *_COLUMNS, "speedup"),
            tuple(rows),
            (
                f"{self.scale.per_router} subscriptions a router; merged: a bound of"
                f" {self.scale.merged_nodes:,} pattern nodes.",
                *_NOTES,
            ),
        )

    def by_length(self) -> ResultTable:
        """Chains of routers."""
        rows = []
        for length in self.scale.lengths:
            self.progress(f"lab piggyback: chain of {length} routers")
            rows.append((length, *self._both(chain(length), self.scale.per_router)))
        return self._speedups(
            "length", "Chains of routers", "routers", rows, "routers from publisher to the end"
        )

    def by_tree(self) -> ResultTable:
        """Complete binary trees; documents are published at the root."""
        rows = []
        for depth in self.scale.tree_depths:
            self.progress(f"lab piggyback: tree of {2**depth - 1} routers")
            rows.append((2**depth - 1, *self._both(binary_tree(depth), self.scale.per_tree_router)))
        return self._speedups("tree", "Binary trees of routers", "routers", rows, "routers")

    def by_subscriptions(self) -> ResultTable:
        """Subscriptions of each router."""
        rows = []
        for count in self.scale.subscriptions:
            self.progress(f"lab piggyback: {count:,} subscriptions a router")
            rows.append((count, *self._both(chain(4), count)))
        return self._speedups(
            "subscriptions",
            "Subscriptions of each router, chain of 4 routers",
            "subscriptions",
            rows,
            "subscriptions a router",
        )

    def by_selectivity(self) -> ResultTable:
        """Shares of the documents that the subscribers of each router want."""
        index = SubscriptionIndex()
        numbers = range(min(len(self.queries), self.scale.pool))
        index.add_many([str(number) for number in numbers], [self.queries[n] for n in numbers])
        matcher = index.matcher()
        wanted_by: dict[int, set[int]] = {}
        for document, content in enumerate(self.contents):
            for id_ in matcher.match(content).ids:
                wanted_by.setdefault(int(id_), set()).add(document)
        rows = []
        for percent in self.scale.percents:
            self.progress(f"lab piggyback: {percent}% of the documents wanted")
            chosen = [self._selective(wanted_by, percent, seed) for seed in range(4)]
            rows.append((percent, *self._both(chain(4), 0, chosen=chosen)))
        return self._speedups(
            "selectivity",
            "Documents that the subscribers of each router want, chain of 4 routers",
            "wanted %",
            rows,
            "documents wanted (%)",
        )

    def _selective(self, wanted_by: dict[int, set[int]], percent: float, seed: int) -> list[str]:
        """Queries that match only documents of a random share."""
        count = max(1, round(len(self.contents) * percent / 100))
        wanted = set(random.Random(seed).sample(range(len(self.contents)), count))
        fitting = [number for number, documents in wanted_by.items() if documents <= wanted]
        return [self.queries[number] for number in fitting[: self.scale.per_router]]

    def _both(
        self, links: Links, per_router: int, *, chosen: Sequence[Sequence[str]] | None = None
    ) -> tuple[Cell, ...]:
        none, all_ = self.compare(self.network(links, per_router, chosen=chosen), (NONE, ALL))
        assert none.deliveries == all_.deliveries, "deliveries are identical"
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
        self.progress("lab piggyback: transport")
        seconds = statistics.median(
            transport_seconds(self.contents) for _ in range(self.scale.repeats)
        )
        size = statistics.mean(map(len, self.contents)) / 1e3
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


def _counts(network: MeasuredNetwork) -> tuple[int, int, int]:
    counters = network.counters().values()
    return (
        sum(each.not_read for each in counters),
        sum(each.read_in_part for each in counters),
        sum(each.false_forwards for each in counters),
    )


def _compared(rounds: Sequence[Measurement], counts: tuple[int, int, int]) -> Compared:
    hops = [hop for each in rounds for hop in each.hops[1:]]
    forwarded = max(1, sum(hop.documents for hop in hops))
    content = max(1, sum(hop.content_bytes for hop in hops))
    nanoseconds = statistics.median(each.nanoseconds for each in rounds)
    received = sum(hop.documents for hop in rounds[0].hops)
    not_read, read_in_part, false_forwards = counts
    return Compared(
        microseconds=nanoseconds / 1e3 / received,
        per_document=nanoseconds / 1e3 / rounds[0].hops[0].documents,
        not_read=100 * not_read / forwarded,
        read_in_part=100 * read_in_part / forwarded,
        header=100 * sum(hop.annotation_bytes for hop in hops) / content,
        false_forwards=100 * false_forwards / forwarded,
        deliveries=rounds[0].deliveries,
    )


def run(*, quick: bool, progress: Progress) -> ExperimentResults:
    """Measure all tables."""
    experiment = Experiment(QUICK if quick else FULL, progress)
    tables = (
        experiment.by_kind(),
        experiment.by_length(),
        experiment.by_tree(),
        experiment.by_subscriptions(),
        experiment.by_selectivity(),
        experiment.transport(),
    )
    return ExperimentResults("piggyback", quick, this_machine(), tables)
