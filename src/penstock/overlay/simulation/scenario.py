"""Random scenarios: churn, faults and changing subscriptions, then calm and the checks."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from penstock.overlay.agent import AgentOptions
from penstock.overlay.bucket_interest import BucketInterest, BucketModel, BucketWorkload
from penstock.overlay.limits import PeerLimits
from penstock.overlay.options import ChildChoice, PeerOptions, Placement
from penstock.overlay.simulation.checks import (
    check_caught_up,
    check_nothing_lost,
    check_one_tree,
    check_order,
    check_structure,
)
from penstock.overlay.simulation.network import NetworkOptions
from penstock.overlay.simulation.simulator import Simulator

SOURCE = "source"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioOptions:
    """What happens in a scenario; shares are of the peers, over the whole time of faults."""

    peers: int = 30
    seconds: float = 300.0
    """Time of faults."""

    calm_seconds: float = 400.0
    """Time without faults, after which everything must be in order."""

    documents_per_second: float = 1.0
    network: NetworkOptions = field(default_factory=NetworkOptions)
    crashes: float = 0.0
    restarts: float = 0.5
    """Share of the crashed peers that come back."""

    leaves: float = 0.0
    changes: float = 0.0
    """Peers that change their subscription."""

    partitions: int = 0
    partition_seconds: float = 40.0
    source_restarts: int = 0
    clock_goes_back: bool = False
    """Whether each restart of the source has a smaller epoch than the one before."""

    has_agent: bool = False
    limits: PeerLimits = field(default_factory=PeerLimits)
    reorganises: bool = True


def random_options(seed: int) -> ScenarioOptions:
    """A scenario by seed: some faults, of varying severity."""
    chance = random.Random(f"{seed}/scenario")

    def sometimes(greatest: float) -> float:
        return chance.uniform(0, greatest) if chance.random() < 0.6 else 0.0

    return ScenarioOptions(
        peers=chance.choice([4, 8, 20, 40]),
        network=NetworkOptions(
            latency_seconds=chance.choice([0.001, 0.05, 0.3]),
            jitter_seconds=sometimes(0.5),
            bytes_per_second=chance.choice([None, None, 50_000.0]),
            loss=sometimes(0.2),
            duplication=sometimes(0.2),
            delay=sometimes(0.1),
            delay_seconds=chance.choice([3.0, 30.0]),
        ),
        crashes=sometimes(0.5),
        leaves=sometimes(0.5),
        changes=sometimes(0.5),
        partitions=chance.choice([0, 0, 1, 2]),
        source_restarts=chance.choice([0, 0, 0, 1]),
        clock_goes_back=random.Random(f"{seed}/clock").random() < 0.5,
        has_agent=chance.random() < 0.3,
        limits=chance.choice(
            [
                PeerLimits(),
                PeerLimits(buffer_documents=20, held_documents=5, window_documents=50),
                PeerLimits(path_attempts=2, search_probes=5),
            ]
        ),
    )


def run_scenario(seed: int, options: ScenarioOptions | None = None) -> Simulator:
    """Runs a scenario and checks it throughout.

    Raises
    ------
    ViolationError
        With the seed, by which the run can be repeated.
    """
    scenario = _Scenario(seed, options or random_options(seed))
    scenario.run()
    return scenario.simulator


class _Scenario:
    def __init__(self, seed: int, options: ScenarioOptions) -> None:
        self._options = options
        self.simulator = Simulator(
            BucketModel(),
            seed=seed,
            network=options.network,
            agent=AgentOptions(top=2, extra_seeds=2) if options.has_agent else None,
        )
        self._chance = random.Random(f"{seed}/events")
        self._workload = BucketWorkload(
            subscribers=options.peers, random=self.simulator.random, k=10, shuffle_every=50
        )
        self._names = [f"p{number}" for number in range(options.peers)]
        self._epoch = 100

    def run(self) -> None:
        options, simulator = self._options, self.simulator
        simulator.add_source(SOURCE, self._peer_options(), epoch=self._epoch)
        for name in self._names:
            simulator.at(self._chance.uniform(0, 20), partial(self._start, name))
        self._schedule(options.crashes, self._crash)
        self._schedule(options.leaves, self._leave)
        self._schedule(options.changes, self._change)
        for _ in range(options.partitions):
            simulator.at(self._time(), self._partition)
        for _ in range(options.source_restarts):
            simulator.at(self._time(), self._restart_source)
        interval = 1 / options.documents_per_second
        count = int(options.seconds / interval)
        for number in range(count):
            simulator.run(until=number * interval)
            self._publish()
            check_structure(simulator, SOURCE)
        simulator.network.heal()
        simulator.network.options = replace(
            options.network, loss=0.0, duplication=0.0, delay=0.0, jitter_seconds=0.0
        )
        for step in range(1, 21):
            simulator.run(until=options.seconds + options.calm_seconds * step / 20)
            check_structure(simulator, SOURCE)
            if step < 10:
                self._publish()
        simulator.end_reorganisation()
        simulator.run(until=simulator.now + 60)
        check_one_tree(simulator, SOURCE)
        check_order(simulator)
        check_nothing_lost(simulator, SOURCE)
        check_caught_up(simulator, SOURCE)

    def _time(self) -> float:
        return self._chance.uniform(20, self._options.seconds)

    def _schedule(self, share: float, action: Callable[[str], None]) -> None:
        for name in self._names:
            if self._chance.random() < share:
                self.simulator.at(self._time(), partial(action, name))

    def _peer_options(self) -> PeerOptions:
        options = self._options
        is_ours = self._chance.random() < 0.5
        return PeerOptions(
            fan_out=self._chance.choice([2, 2, 3, 6]),
            limits=options.limits,
            reorganise_seconds=20.0 if options.reorganises else None,
            overhead_threshold=0.05,
            placement=Placement.PATH_COST if is_ours else Placement.OVERHEAD,
            child_choice=ChildChoice.MARGINAL if is_ours else ChildChoice.LEAST_OVERLAP,
        )

    def _interest(self) -> BucketInterest:
        count = self._chance.choice([1, 1, 2, 3])
        members = 0
        for _ in range(count):
            members |= 1 << self._chance.randrange(self._options.peers)
        return BucketInterest(members)

    def _publish(self) -> None:
        if SOURCE in self.simulator.peers:
            self.simulator.publish(SOURCE, self._workload.next_document())

    def _start(self, name: str) -> None:
        seeds = self._chance.sample(self._names, min(2, len(self._names)))
        wanted = [SOURCE, *seeds] if self._chance.random() < 0.5 else []
        self.simulator.add_peer(name, SOURCE, self._interest(), self._peer_options(), seeds=wanted)

    def _crash(self, name: str) -> None:
        if name not in self.simulator.peers:
            return
        self.simulator.crash(name)
        if self._chance.random() < self._options.restarts:
            again = self.simulator.now + self._chance.choice([0.01, 5.0, 60.0])
            self.simulator.at(again, lambda: self._start(name))

    def _leave(self, name: str) -> None:
        if name not in self.simulator.peers:
            return
        self.simulator.leave(name, SOURCE)

    def _change(self, name: str) -> None:
        if name in self.simulator.peers:
            self.simulator.change_interest(name, SOURCE, self._interest())

    def _partition(self) -> None:
        size = self._chance.randrange(1, len(self._names))
        self.simulator.network.partition(self._chance.sample(self._names, size))
        ends = self.simulator.now + self._options.partition_seconds
        self.simulator.at(ends, self.simulator.network.heal)

    def _restart_source(self) -> None:
        self.simulator.crash(SOURCE)
        self._epoch += -1 if self._options.clock_goes_back else 1
        self.simulator.add_source(SOURCE, self._peer_options(), epoch=self._epoch)
