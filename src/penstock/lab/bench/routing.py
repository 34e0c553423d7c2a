"""``bench routing``: routing time along chains of routers, with and without annotations."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.documents import Document, Header
from penstock.lab.bench.bench_workload import BenchWorkload, Setting, draw
from penstock.lab.bench.report import BenchResults, Progress, Report
from penstock.lab.routing.measured_network import MeasuredNetwork, Measurement, chain
from penstock.routing import NO_KINDS, AnnotationOptions, LocalSubscription

SIDES = {
    "none": AnnotationOptions(kinds=NO_KINDS),
    "all": AnnotationOptions(),
}
"""What is compared: documents without annotations, and with those that pay off."""


@dataclass(frozen=True, slots=True)
class Size:
    """The size of the benchmark."""

    lengths: tuple[int, ...]
    """Routers of each chain; the last one has all budgets."""

    per_router: int
    """Subscriptions of each router."""

    documents: int
    repeats: int


FULL = Size(lengths=(4, 8), per_router=10_000, documents=500, repeats=7)
QUICK = Size(lengths=(4, 8), per_router=40, documents=10, repeats=2)


def run(*, quick: bool, progress: Progress) -> Report:
    """Publish the same documents at the first router of each chain, with and without."""
    size = QUICK if quick else FULL
    results = BenchResults()
    for length in size.lengths:
        progress(f"bench routing: {length} routers, generating")
        count = length * size.per_router
        setting = Setting(subscriptions=count, documents=size.documents, repeats=size.repeats)
        workload = draw("paths-sparse", setting)
        progress(f"bench routing: {length} routers, exchanging interests")
        network = network_of(workload, length)
        rounds = _rounds(network, workload, size, progress)
        _report(rounds, length, results)
    return results.report("routing", quick=quick)


def network_of(workload: BenchWorkload, length: int) -> MeasuredNetwork:
    """A chain of routers that share the subscriptions of a workload."""
    network = MeasuredNetwork(chain(length))
    network.subscribe(
        {
            f"r{router}": [
                LocalSubscription(id=id_, subscriber=id_, query=query)
                for id_, query in zip(
                    workload.ids[router::length], workload.queries[router::length], strict=True
                )
            ]
            for router in range(length)
        }
    )
    return network


@dataclass(frozen=True, slots=True)
class Rounds:
    """The repeats of both sides, and how many documents were not read to the end."""

    measured: dict[str, list[Measurement]]
    not_read: int


def _rounds(
    network: MeasuredNetwork, workload: BenchWorkload, size: Size, progress: Progress
) -> Rounds:
    measured: dict[str, list[Measurement]] = {side: [] for side in SIDES}
    not_read = 0
    # The first round builds the automata and is not counted.
    for turn in range(1 + size.repeats):
        progress(f"bench routing: round {turn} of {size.repeats}")
        for side, options in SIDES.items():
            network.use(options)
            before = _not_read(network)
            measurement = network.publish("r0", _documents(workload.documents, side, turn))
            if turn > 0:
                measured[side].append(measurement)
                not_read += _not_read(network) - before
    return Rounds(measured, not_read)


def _report(rounds: Rounds, length: int, results: BenchResults) -> None:
    measured, not_read = rounds.measured, rounds.not_read
    name = f"{length} routers"
    seconds = {
        side: [each.nanoseconds / 1e9 for each in rounds] for side, rounds in measured.items()
    }
    medians = {side: statistics.median(rounds) for side, rounds in seconds.items()}
    results.values[f"speedup_{length}"] = medians["none"] / medians["all"]
    # From the second router on; the first one has to read.
    hops = [hop for each in measured["all"] for hop in each.hops[1:]]
    received = sum(hop.documents for hop in hops)
    header = sum(hop.annotation_bytes for hop in hops) / sum(hop.content_bytes for hop in hops)
    results.values["not_read"] = 100 * not_read / received
    results.values["header"] = 100 * header
    last = {side: rounds[-1] for side, rounds in measured.items()}
    for side, measurement in last.items():
        published = measurement.hops[0].documents
        microseconds = medians[side] * 1e6 / published
        results.figure(f"{name}, {side}: routing time per document", microseconds, "µs")
        for distance, hop in enumerate(measurement.hops):
            per_hop = hop.nanoseconds / 1e3 / hop.documents
            results.figure(f"{name}, {side}: router {distance + 1}, per document", per_hop, "µs")
    results.figure(f"{name}: documents not read", 100 * not_read / received, "%")
    results.figure(f"{name}: bytes of annotations", 100 * header, "%")
    reached = last["all"].hops[-1].documents / last["all"].hops[0].documents
    results.figure(f"{name}: documents that reach the last router", 100 * reached, "%")
    deliveries = last["all"].deliveries / last["all"].hops[0].documents
    assert last["all"].deliveries == last["none"].deliveries, "annotations change no delivery"
    results.figure(f"{name}: deliveries per document", deliveries, "")
    spread = max(max(rounds) / min(rounds) for rounds in seconds.values())
    results.figure(f"{name}: spread of the repeats", spread, "x")


def _documents(contents: Sequence[bytes], side: str, turn: int) -> list[Document]:
    """The documents of a round under identities of their own: a router ignores repetitions."""
    return [
        Document(content, Header(publisher="bench", id=f"{side}/{turn}/{number}"))
        for number, content in enumerate(contents)
    ]


def _not_read(network: MeasuredNetwork) -> int:
    return sum(each.not_read + each.read_in_part for each in network.counters().values())
