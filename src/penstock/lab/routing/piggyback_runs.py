"""Measures a network of the piggyback experiments with each choice of annotations."""

from __future__ import annotations

import gc
import random
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from penstock.documents import Document, Header
from penstock.lab.bench.report import Progress
from penstock.lab.routing.measured_network import MeasuredNetwork, Measurement
from penstock.lab.routing.piggyback_settings import NONE, SIDES, Setting
from penstock.lab.workload import workload
from penstock.matching import SubscriptionIndex
from penstock.routing import LocalSubscription
from penstock.routing.limits import PREPARED_TARGETS_PER_DOCUMENT

PREPARING_SHARE: Final = 3
"""Documents that are published for each one that a router must receive before it prepares filters:
not all of them reach the last router."""


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


class SettingRunner:
    """Measures networks that route the same documents with each choice of annotations."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._workload = workload("paths-sparse")
        self._queries: Sequence[str] = ()
        self._wanted_by: dict[tuple[int, int], dict[int, set[int]]] = {}
        self._round = 0

    def __call__(self, setting: Setting) -> dict[str, Compared]:
        """Routing with each of :data:`SIDES`, by name."""
        contents = list(self._workload.documents(setting.documents, seed=11))
        network = MeasuredNetwork(setting.links, aggregate_nodes=setting.bound)
        self._progress(f"lab piggyback: {setting}: subscribing")
        network.subscribe(
            {
                name: [
                    LocalSubscription(id=f"{name}/{number}", subscriber=name, query=query)
                    for number, query in enumerate(own)
                ]
                for name, own in zip(
                    network.routers, self._own_queries(setting, contents), strict=True
                )
            }
        )
        found = self._compare(network, setting, contents)
        # Routers refer to each other's patterns: the next network needs the memory.
        del network
        gc.collect()
        for side, compared in found.items():
            assert compared.deliveries == found[NONE].deliveries, f"deliveries differ: {side}"
        return found

    def _own_queries(self, setting: Setting, contents: Sequence[bytes]) -> list[Sequence[str]]:
        """The queries of each router."""
        size = setting.per_router
        queries = self._generated(max(setting.pool, setting.routers * size))
        if setting.percent is None:
            return [queries[at * size : (at + 1) * size] for at in range(setting.routers)]
        wanted_by = self._wanted(setting, contents)
        own: list[Sequence[str]] = []
        for seed in range(setting.routers):
            count = max(1, round(len(contents) * setting.percent / 100))
            wanted = set(random.Random(seed).sample(range(len(contents)), count))
            # Queries that match no other document than these.
            fitting = (number for number, documents in wanted_by.items() if documents <= wanted)
            own.append([queries[number] for number in islice(fitting, size)])
        return own

    def _generated(self, count: int) -> Sequence[str]:
        """Generated queries. Those of a smaller count are the first of a larger one."""
        if len(self._queries) < count:
            self._queries = self._workload.queries(count, seed=11)
        return self._queries

    def _wanted(self, setting: Setting, contents: Sequence[bytes]) -> dict[int, set[int]]:
        """The documents that each query of the pool matches, by their numbers."""
        key = setting.pool, len(contents)
        if key not in self._wanted_by:
            index = SubscriptionIndex()
            pool = self._generated(setting.pool)[: setting.pool]
            index.add_many([str(number) for number in range(len(pool))], pool)
            matcher = index.matcher()
            wanted_by: dict[int, set[int]] = {}
            for document, content in enumerate(contents):
                for id_ in matcher.match(content).ids:
                    wanted_by.setdefault(int(id_), set()).add(document)
            self._wanted_by[key] = wanted_by
        return self._wanted_by[key]

    def _compare(
        self, network: MeasuredNetwork, setting: Setting, contents: Sequence[bytes]
    ) -> dict[str, Compared]:
        """Publish the documents at the first router with each choice, in turns."""
        measured: dict[str, list[Measurement]] = {side: [] for side in SIDES}
        counts = dict.fromkeys(SIDES, NO_COUNTS)
        self._prepare(network, setting, contents)
        for turn in range(1 + setting.repeats):
            self._progress(f"lab piggyback: {setting}: round {turn + 1} of {1 + setting.repeats}")
            for side, options in SIDES.items():
                network.use(options)
                before = _counts(network)
                measurement = network.publish("r0", self._documents(contents))
                if turn > 0:  # the first round builds automata and filters
                    measured[side].append(measurement)
                    new = _counts(network).plus(before, -1)
                    counts[side] = counts[side].plus(new)
        return {side: _compared(rounds, counts[side]) for side, rounds in measured.items()}

    def _prepare(
        self, network: MeasuredNetwork, setting: Setting, contents: Sequence[bytes]
    ) -> None:
        """Publish without annotations until routers may prepare filters for all subscriptions.

        Otherwise large networks would prepare them in a round that is measured.
        """
        subscriptions = setting.routers * setting.per_router
        documents = PREPARING_SHARE * subscriptions // PREPARED_TARGETS_PER_DOCUMENT
        network.use(SIDES[NONE])
        for _ in range(documents // len(contents)):
            network.publish("r0", self._documents(contents))

    def _documents(self, contents: Iterable[bytes]) -> list[Document]:
        self._round += 1
        return [
            Document(content, Header(publisher="lab", id=f"{self._round}/{number}"))
            for number, content in enumerate(contents)
        ]


class Counts(NamedTuple):
    """Documents that routers counted."""

    not_read: int
    read_in_part: int
    false_forwards: int

    def plus(self, other: Counts, times: int = 1) -> Counts:
        """Sums, or with ``times=-1`` differences."""
        return Counts(*(one + times * two for one, two in zip(self, other, strict=True)))


NO_COUNTS: Final = Counts(0, 0, 0)


def _counts(network: MeasuredNetwork) -> Counts:
    counters = network.counters().values()
    return Counts(
        sum(each.not_read for each in counters),
        sum(each.read_in_part for each in counters),
        sum(each.false_forwards for each in counters),
    )


def _compared(rounds: Sequence[Measurement], counts: Counts) -> Compared:
    hops = [hop for each in rounds for hop in each.hops[1:]]
    forwarded = max(1, sum(hop.documents for hop in hops))
    content = max(1, sum(hop.content_bytes for hop in hops))
    nanoseconds = statistics.median(each.nanoseconds for each in rounds)
    received = sum(hop.documents for hop in rounds[0].hops)
    return Compared(
        microseconds=nanoseconds / 1e3 / received,
        per_document=nanoseconds / 1e3 / rounds[0].hops[0].documents,
        not_read=100 * counts.not_read / forwarded,
        read_in_part=100 * counts.read_in_part / forwarded,
        header=100 * sum(hop.annotation_bytes for hop in hops) / content,
        false_forwards=100 * counts.false_forwards / forwarded,
        deliveries=rounds[0].deliveries,
    )
