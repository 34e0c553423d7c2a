"""Churn and disaster: how soon peers are served again, and what it costs."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from penstock.overlay import (
    BucketInterest,
    BucketModel,
    BucketWorkload,
    Connected,
    Deliver,
    Disconnected,
    PeerLimits,
    PeerOptions,
    PeerOutput,
)
from penstock.overlay.membership.transitions import HAS_PARENT
from penstock.overlay.simulation import Simulator
from penstock.overlay.simulation.checks import check_nothing_lost, check_one_tree, check_order

SOURCE = "source"

_JOIN_SECONDS: Final = 0.05
_SETTLE_SECONDS: Final = 60.0
_SERVED_SECONDS_MAX: Final = 600.0
"""Virtual time after which a peer that is not served counts as a failure of the protocol."""

_TRAFFIC: Final = frozenset({"Forward", "ParentHeartbeat", "ChildHeartbeat"})
"""Messages that are sent without any fault, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultConfiguration:
    """Sizes of a run; one document is published per second of virtual time."""

    nodes: int
    fan_out: int = 6
    selectivity: float = 0.2
    churn_minutes: int = 1
    seed: int = 1

    def options(self) -> PeerOptions:
        """The default time-outs: heartbeats every 5 seconds, dead after 16 seconds of silence."""
        return PeerOptions(
            fan_out=self.fan_out, limits=PeerLimits(window_documents=200, buffer_documents=400)
        )

    def workload(self, subscribers: int) -> BucketWorkload:
        """The documents."""
        return BucketWorkload(
            subscribers=subscribers,
            random=random.Random(f"{self.seed}/faults"),
            k=20,
            selectivity=self.selectivity,
            shuffle_every=10_000,
        )


@dataclass(slots=True)
class FaultRun:
    """What was measured."""

    seconds: list[float] = field(default_factory=list)
    """Time without service of each peer that had any, ascending."""

    delays: list[float] = field(default_factory=list)
    """From publication to delivery of each document at each subscriber, ascending."""

    repairs: float = 0.0
    """Messages besides documents and heartbeats: for each peer, and in a minute if the run has no
    other end."""

    messages: dict[str, int] = field(default_factory=dict)
    peers: int = 0


class _Watch:
    """Follows connections and deliveries."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._lost_at: dict[str, float] = {}
        self.published_at: list[float] = [0.0]
        """By sequence number."""
        self.outages: list[float] = []
        self.delays: list[float] = []

    def __call__(self, name: str, output: PeerOutput, now: float) -> None:
        if type(output) is Deliver:
            self.delays.append(now - self.published_at[output.sequence])
        elif type(output) is Disconnected:
            self._lost_at.setdefault(name, now)
        elif type(output) is Connected:
            lost_at = self._lost_at.pop(name, None)
            if lost_at is not None:
                self.outages.append(now - lost_at)


class _Network:
    """An overlay that has formed, and publishes."""

    def __init__(self, configuration: FaultConfiguration, subscribers: int) -> None:
        self.simulator = Simulator(BucketModel(), seed=configuration.seed)
        self.watch = _Watch(self.simulator)
        self.simulator.outputs.append(self.watch)
        self._options = configuration.options()
        self._workload = configuration.workload(subscribers)
        self._joined = 0
        self.simulator.add_source(SOURCE, self._options)
        for _ in range(configuration.nodes):
            self.join()
            self.simulator.run(until=self.simulator.now + _JOIN_SECONDS)
        self.simulator.run(until=self.simulator.now + _SETTLE_SECONDS)

    def join(self) -> None:
        """A new peer joins."""
        name = f"p{self._joined}"
        interest = BucketInterest.of(self._joined)
        self.simulator.add_peer(name, SOURCE, interest, self._options)
        self._joined += 1

    def publish(self) -> None:
        """A document, and a second of virtual time."""
        self.watch.published_at.append(self.simulator.now)
        self.simulator.publish(SOURCE, self._workload.next_document())
        self.simulator.run(until=self.simulator.now + 1.0)

    def repairs(self, before: Counter[str]) -> tuple[int, dict[str, int]]:
        """Messages since a time, and those of them that repair the tree."""
        sent = self.simulator.messages - before
        return sum(sent[kind] for kind in sent if kind not in _TRAFFIC), dict(sent)

    def settle(self) -> None:
        """Ends the run: everybody is in one tree, and has everything once and in order."""
        self.simulator.run(until=self.simulator.now + _SETTLE_SECONDS)
        check_one_tree(self.simulator, SOURCE)
        check_order(self.simulator)
        check_nothing_lost(self.simulator, SOURCE)


def run_faults(configuration: FaultConfiguration) -> tuple[FaultRun, FaultRun]:
    """A run with churn, and one with a disaster."""
    return run_churn(configuration), run_disaster(configuration)


def run_churn(configuration: FaultConfiguration, *, share: float = 0.1) -> FaultRun:
    """In every minute a share of the peers leave, half of them without notice, and others join."""
    minutes = configuration.churn_minutes
    rate = share * configuration.nodes / 60
    network = _Network(configuration, configuration.nodes + round(rate * 60 * minutes) + 1)
    simulator = network.simulator
    rnd = random.Random(f"{configuration.seed}/churn")
    before, due, leaves = simulator.messages.copy(), 0.0, 0
    for _ in range(60 * minutes):
        due += rate
        while due >= 1:
            due -= 1
            present = [
                name
                for name, peer in simulator.peers.items()
                if name != SOURCE and peer.memberships[SOURCE].state in HAS_PARENT
            ]
            name = rnd.choice(present)
            leaves += 1
            if leaves % 2:
                simulator.crash(name)
            else:
                simulator.leave(name, SOURCE)
            network.join()
        network.publish()
    repairs, sent = network.repairs(before)
    network.settle()
    return FaultRun(
        sorted(network.watch.outages),
        sorted(network.watch.delays),
        repairs / (configuration.nodes * minutes),
        sent,
        configuration.nodes,
    )


def run_disaster(configuration: FaultConfiguration, *, cut_seconds: float = 60.0) -> FaultRun:
    """A third of the peers stop at once, and the links between a region and the rest are gone.

    The region is a sixth of the peers; its links return after a minute. Its peers are served again
    when they receive everything from the source.
    """
    network = _Network(configuration, configuration.nodes)
    simulator = network.simulator
    for _ in range(60):
        network.publish()
    rnd = random.Random(f"{configuration.seed}/disaster")
    names = [name for name in simulator.peers if name != SOURCE]
    rnd.shuffle(names)
    third, sixth = len(names) // 3, len(names) // 6
    for name in names[:third]:
        simulator.crash(name)
    region = names[third : third + sixth]
    simulator.network.partition(region)
    begin, before = simulator.now, simulator.messages.copy()
    waiting = set(names[third:])
    served_at: dict[str, float] = {}
    while waiting or simulator.now - begin <= cut_seconds:
        if simulator.now - begin > _SERVED_SECONDS_MAX:
            raise AssertionError(f"seed {configuration.seed}: not served: {sorted(waiting)}")
        network.publish()
        if simulator.now - begin >= cut_seconds:
            simulator.network.heal()
        now_served = _served(simulator)
        for name in waiting & now_served:
            served_at[name] = simulator.now - begin
        # A peer that lost its place after all counts until it has one again.
        for name in set(served_at) - now_served:
            del served_at[name]
        waiting = set(names[third:]) - set(served_at)
    repairs, sent = network.repairs(before)
    network.settle()
    survivors = len(names) - third
    return FaultRun(
        sorted(served_at.values()),
        sorted(network.watch.delays),
        repairs / survivors,
        sent,
        survivors,
    )


def _served(simulator: Simulator) -> set[str]:
    """Peers that a path of live parents connects to the source, and that lack nothing."""
    found: set[str] = set()
    cut = simulator.network.is_cut
    level = [SOURCE]
    while level:
        below = []
        for name in level:
            for child in simulator.membership(name, SOURCE).children.values():
                peer = simulator.peers.get(child.name)
                if peer is None or not child.is_active or cut(name, child.name):
                    continue
                membership = peer.memberships[SOURCE]
                if membership.parent == name and child.name not in found:
                    below.append(child.name)
                    if membership.stream.gap is None:
                        found.add(child.name)
        level = below
    return found
