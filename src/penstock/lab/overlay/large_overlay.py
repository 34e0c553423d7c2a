"""Overlays of thousands of peers: joins, dissemination, reorganisation, and what they cost."""

from __future__ import annotations

import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.lab.overlay.bucket_configuration import BucketConfiguration
from penstock.lab.overlay.overlay_runs import SOURCE, Policy
from penstock.overlay import Connected, PeerOutput
from penstock.overlay.simulation import Simulator, check_one_tree
from penstock.overlay.simulation.checks import memberships

_JOIN_SECONDS: Final = 0.02
"""Virtual time between two joins: fifty a second."""

_JOINED_SECONDS_MAX: Final = 600.0
"""Virtual time after the last join by which everybody must have a parent."""


@dataclass(frozen=True, kw_only=True)
class LargeConfiguration:
    """Sizes of a run, by our policy; one document is published per second of virtual time."""

    nodes: int
    documents: int = 1_000
    interval: int = 200
    """Documents of an interval of reorganisation, and of the first and last ones measured."""

    fan_out: int = 6
    seed: int = 1

    def buckets(self) -> BucketConfiguration:
        """The configuration of peers and documents; the distribution does not change."""
        return BucketConfiguration(
            nodes=self.nodes,
            documents=self.documents,
            fan_out=self.fan_out,
            policy=Policy.OURS,
            seed=self.seed,
            reorganise_every=self.interval,
            window=self.interval,
            change_every=self.documents + 1,
        )


@dataclass(frozen=True, slots=True)
class LargeRun:
    """What was measured."""

    joined_seconds: float
    """Virtual time from the last join until everybody has a parent."""

    join_messages: float
    """Messages a peer until then."""

    depths: list[int]
    """Of all peers, at the end."""

    first_overhead: float
    """System overhead over the first interval."""

    last_overhead: float
    moves: int
    control_messages: float
    """Messages besides documents and heartbeats, for each peer and interval of reorganisation."""

    join_cpu_seconds: float
    """CPU time of the simulation of all joins."""

    document_cpu_seconds: float
    """CPU time of the simulation for each document, with everything that happens meanwhile."""

    memory_mib: float
    """Growth of the process."""


class _Moves:
    """Counts moves."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _name: str, output: PeerOutput, _now: float) -> None:
        self.count += type(output) is Connected and output.is_move


def run_large(configuration: LargeConfiguration) -> LargeRun:
    """Peers join, documents are published, the tree is reorganised, and is one tree at the end."""
    memory, cpu = _resident_mib(), time.process_time()
    buckets = configuration.buckets()
    simulator = Simulator(buckets.model(), seed=configuration.seed, keeps_logs=False)
    moves = _Moves()
    simulator.outputs.append(moves)
    options = buckets.peer_options()
    simulator.add_source(SOURCE, options)
    for number, interest in enumerate(buckets.interests()):
        simulator.add_peer(f"p{number}", SOURCE, interest, options)
        simulator.run(until=simulator.now + _JOIN_SECONDS)
    joined_seconds = _join_all(simulator)
    join_messages = _control_messages(simulator)
    join_cpu, cpu = time.process_time() - cpu, time.process_time()
    moves.count = 0
    shares: list[float] = []
    before = (0, 0)
    for number, document in enumerate(buckets.stream(), 1):
        simulator.publish(SOURCE, document)
        simulator.run(until=simulator.now + 1.0)
        if number % configuration.interval == 0:
            now = _transfers(simulator)
            shares.append((now[1] - before[1]) / max(1, now[0] - before[0]))
            before = now
    document_cpu = (time.process_time() - cpu) / configuration.documents
    control = _control_messages(simulator) - join_messages
    simulator.end_reorganisation()
    simulator.run(until=simulator.now + 60.0)
    check_one_tree(simulator, SOURCE)
    intervals = configuration.documents / configuration.interval
    return LargeRun(
        joined_seconds=joined_seconds,
        join_messages=join_messages / configuration.nodes,
        depths=sorted(
            len(each.path) for each in memberships(simulator, SOURCE).values() if each.path
        ),
        first_overhead=shares[0],
        last_overhead=shares[-1],
        moves=moves.count,
        control_messages=control / configuration.nodes / intervals,
        join_cpu_seconds=join_cpu,
        document_cpu_seconds=document_cpu,
        memory_mib=_resident_mib() - memory,
    )


def _join_all(simulator: Simulator) -> float:
    """Waits until everybody has a parent; returns how long."""
    begin = simulator.now
    while not all(each.is_connected for each in memberships(simulator, SOURCE).values()):
        if simulator.now - begin > _JOINED_SECONDS_MAX:
            raise AssertionError(f"seed {simulator.seed}: not everybody has joined")
        simulator.run(until=simulator.now + 0.1)
    return simulator.now - begin


def _transfers(simulator: Simulator) -> tuple[int, int]:
    traffic = simulator.traffic.values()
    return sum(each.received for each in traffic), sum(each.extraneous for each in traffic)


def _control_messages(simulator: Simulator) -> int:
    usual = ("Forward", "ParentHeartbeat", "ChildHeartbeat")
    return simulator.messages.total() - sum(simulator.messages[kind] for kind in usual)


def _resident_mib() -> float:
    """Memory of the process now, not at its peak."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / (1 << 20)
