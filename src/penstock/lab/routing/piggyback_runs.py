"""Measures a network of the piggyback experiments with each choice of annotations."""

from __future__ import annotations

import gc
import random
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from penstock.documents import Document, Header
from penstock.lab.bench.report import Progress
from penstock.lab.routing.measured_network import MeasuredNetwork, Measurement
from penstock.lab.routing.piggyback_settings import NONE, SIDES, Setting
from penstock.lab.routing.transport import transport_seconds
from penstock.lab.workload import workload
from penstock.matching import SubscriptionIndex
from penstock.routing import LocalSubscription
from penstock.routing.limits import PREPARED_TARGETS_PER_DOCUMENT

PREPARING_SHARE: Final = 3
"""Documents that are published for each one that a router must receive before it prepares filters:
not all of them reach the last router."""

TRANSPORTED_DOCUMENTS: Final = 128
TRANSPORT_REPEATS: Final = 3
"""How often their transport is measured; the median counts."""


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
    spread: float
    """Difference of the slowest and the fastest repeat, as a percentage of the median."""

    transport: float
    """Microseconds per published document on all links that it crossed, measured beside."""

    subscriptions: int
    """Subscriptions of each router, or of the one with the fewest."""

    wanted: tuple[float, ...]
    """Percentage of the published documents that each router delivered to its own subscribers."""


class SettingRunner:
    """Measures networks that route the same documents with each choice of annotations."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._workload = workload("paths-sparse")
        self._queries: Sequence[str] = ()
        self._matched: dict[tuple[int, int], list[frozenset[int]]] = {}
        self._generated_contents: Sequence[bytes] = ()
        self._measured_link: float | None = None
        self._round = 0

    def __call__(self, setting: Setting) -> dict[str, Compared]:
        """Routing with each of :data:`SIDES`, by name."""
        contents = self._contents(setting.documents)
        link_seconds = self._link_seconds()
        own_queries = self._own_queries(setting)
        network = MeasuredNetwork(setting.links, aggregate_nodes=setting.bound)
        self._progress(f"lab piggyback: {setting}: subscribing")
        network.subscribe(
            {
                name: [
                    LocalSubscription(id=f"{name}/{number}", subscriber=name, query=query)
                    for number, query in enumerate(own)
                ]
                for name, own in zip(network.routers, own_queries, strict=True)
            }
        )
        found = self._compare(network, setting, contents, link_seconds)
        # Routers refer to each other's patterns: the next network needs the memory.
        del network
        gc.collect()
        for side, compared in found.items():
            assert compared.deliveries == found[NONE].deliveries, f"deliveries differ: {side}"
        return found

    def _own_queries(self, setting: Setting) -> list[Sequence[str]]:
        """The queries of each router."""
        size = setting.per_router
        queries = self._generated(max(setting.pool, setting.routers * size))
        if setting.percent is None:
            return [queries[at * size : (at + 1) * size] for at in range(setting.routers)]
        matched_by = self._matched_by(setting)
        wanted = round(setting.documents * setting.percent / 100)
        chosen = (
            choose_queries(matched_by, wanted, size, random.Random(seed))
            for seed in range(setting.routers)
        )
        return [[queries[number] for number in own] for own in chosen]

    def _generated(self, count: int) -> Sequence[str]:
        """Generated queries. Those of a smaller count are the first of a larger one."""
        if len(self._queries) < count:
            self._queries = self._workload.queries(count, seed=11)
        return self._queries

    def _matched_by(self, setting: Setting) -> list[frozenset[int]]:
        """The documents that each query of the pool matches, by their numbers."""
        key = setting.pool, setting.documents
        if key not in self._matched:
            index = SubscriptionIndex()
            pool = self._generated(setting.pool)[: setting.pool]
            index.add_many([str(number) for number in range(len(pool))], pool)
            matcher = index.matcher()
            matched: list[set[int]] = [set() for _ in pool]
            for document, content in enumerate(self._contents(setting.documents)):
                for id_ in matcher.match(content).ids:
                    matched[int(id_)].add(document)
            self._matched[key] = list(map(frozenset, matched))
        return self._matched[key]

    def _contents(self, count: int) -> Sequence[bytes]:
        """Generated documents. Those of a smaller count are the first of a larger one."""
        if len(self._generated_contents) < count:
            self._generated_contents = list(self._workload.documents(count, seed=11))
        return self._generated_contents[:count]

    def _link_seconds(self) -> float:
        """Seconds that transporting a document over a link takes, measured once."""
        if self._measured_link is None:
            contents = self._contents(TRANSPORTED_DOCUMENTS)
            self._measured_link = statistics.median(
                transport_seconds(contents) for _ in range(TRANSPORT_REPEATS)
            )
        return self._measured_link

    def _compare(
        self,
        network: MeasuredNetwork,
        setting: Setting,
        contents: Sequence[bytes],
        link_seconds: float,
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
        routers = network.routers
        subscriptions = min(len(router.subscriptions) for router in routers.values())
        found: dict[str, Compared] = {}
        for side, rounds in measured.items():
            wanted = [100 * rounds[0].wanted[name] / rounds[0].documents for name in routers]
            found[side] = _compared(
                rounds, counts[side], wanted, subscriptions=subscriptions, link_seconds=link_seconds
            )
        return found

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


def _compared(
    rounds: Sequence[Measurement],
    counts: Counts,
    wanted: Sequence[float],
    *,
    subscriptions: int,
    link_seconds: float,
) -> Compared:
    hops = [hop for each in rounds for hop in each.hops[1:]]
    forwarded = max(1, sum(hop.documents for hop in hops))
    content = max(1, sum(hop.content_bytes for hop in hops))
    times = [each.nanoseconds for each in rounds]
    nanoseconds = statistics.median(times)
    first = rounds[0]
    received = first.documents + first.forwards
    return Compared(
        microseconds=nanoseconds / 1e3 / received,
        per_document=nanoseconds / 1e3 / first.documents,
        spread=100 * (max(times) - min(times)) / nanoseconds,
        transport=link_seconds * 1e6 * first.forwards / first.documents,
        not_read=100 * counts.not_read / forwarded,
        read_in_part=100 * counts.read_in_part / forwarded,
        header=100 * sum(hop.annotation_bytes for hop in hops) / content,
        false_forwards=100 * counts.false_forwards / forwarded,
        deliveries=first.deliveries,
        subscriptions=subscriptions,
        wanted=tuple(wanted),
    )


def choose_queries(
    matched_by: Sequence[frozenset[int]], wanted: int, count: int, chance: random.Random
) -> list[int]:
    """Choose queries that together match exactly as many documents as are wanted.

    Random documents are covered one after the other, by queries that match no more than remain.
    Then follow other queries that match nothing else, and those that match no document at all.

    Parameters
    ----------
    matched_by
        The documents that each query matches.
    wanted
        Number of documents.
    count
        Number of queries.
    chance
        Chooses documents and queries.

    Returns
    -------
    The positions of the queries.

    Raises
    ------
    ValueError
        There are no such queries.
    """
    by_document: dict[int, list[int]] = defaultdict(list)
    for number, documents in enumerate(matched_by):
        for document in documents:
            by_document[document].append(number)
    covered = set[int]()
    chosen: list[int] = []
    for document in chance.sample(sorted(by_document), len(by_document)):
        if len(covered) == wanted:
            break
        if document in covered:
            continue
        fitting = [
            number
            for number in by_document[document]
            if len(matched_by[number] - covered) <= wanted - len(covered)
        ]
        if fitting:
            chosen.append(chance.choice(fitting))
            covered |= matched_by[chosen[-1]]
    taken = set(chosen)
    others = [number for number in range(len(matched_by)) if number not in taken]
    chance.shuffle(others)
    inside = [number for number in others if matched_by[number] and matched_by[number] <= covered]
    chosen += inside[: max(0, count - len(chosen))]
    unmatched = [number for number in others if not matched_by[number]]
    chosen += unmatched[: max(0, count - len(chosen))]
    if (len(covered), len(chosen)) != (wanted, count):
        found = f"{len(chosen)} queries match {len(covered)} documents"
        raise ValueError(f"{found}, not {count} queries {wanted}")
    return chosen
