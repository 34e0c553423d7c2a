"""Runs of overlays and of the Siena-like baseline, by configuration."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from penstock.overlay import (
    ChildChoice,
    Connected,
    Deliver,
    Interest,
    InterestModel,
    PeerLimits,
    PeerOptions,
    PeerOutput,
    Placement,
)
from penstock.overlay.baselines import SienaNetwork
from penstock.overlay.interest import OverlayDocument
from penstock.overlay.simulation import Simulator
from penstock.overlay.tree_picture import PicturePeer, TreePicture, picture_of

SOURCE = "source"
SETTLE_SECONDS = 100.0
"""Virtual time for joining, before the first document."""

JOIN_SECONDS = 0.2
"""Virtual time between two joins."""


OUR_THRESHOLD = 0.05
"""Overhead above which children are asked to move, by our policy."""

OUR_EXAMINATIONS = 8
"""Examinations of a peer's overhead in an interval of reorganisation, by our policy."""

PICTURE_DOCUMENTS = 50
"""Documents after which the first picture is taken."""


class Policy(StrEnum):
    """How an overlay is reorganised."""

    NONE = "CoDD-NR"
    """Not at all."""

    PAPER = "CoDD-R"
    """The paper's policies: least overlap, least overhead, one child at a time."""

    OURS = "path cost"
    """Marginal contribution, path cost, displacement, several children at a time, at a lower
    threshold; a child that is new is asked sooner."""


@dataclass(frozen=True, kw_only=True)
class RunConfiguration(ABC):
    """A configuration; the defaults are the paper's."""

    nodes: int = 400
    documents: int = 10_000
    fan_out: int = 6
    reorganise_every: int = 200
    threshold: float = 0.2
    window: int = 200
    policy: Policy = Policy.NONE
    seed: int = 1

    @abstractmethod
    def model(self) -> InterestModel:
        """The language of interests."""

    @abstractmethod
    def interests(self) -> Sequence[Interest]:
        """The subscription of each node."""

    @abstractmethod
    def stream(self) -> Iterator[OverlayDocument]:
        """The documents: the same for all policies and for the baseline."""

    def peer_options(self) -> PeerOptions:
        """Settings of all peers. One document is published per second of virtual time."""
        is_ours = self.policy is Policy.OURS
        return PeerOptions(
            fan_out=self.fan_out,
            heartbeat_seconds=50.0,
            silence_seconds=170.0,
            reorganise_seconds=(
                None if self.policy is Policy.NONE else float(self.reorganise_every)
            ),
            overhead_threshold=OUR_THRESHOLD if is_ours else self.threshold,
            examinations=OUR_EXAMINATIONS if is_ours else 1,
            moves_per_round=3 if is_ours else 1,
            placement=Placement.PATH_COST if is_ours else Placement.OVERHEAD,
            child_choice=ChildChoice.MARGINAL if is_ours else ChildChoice.LEAST_OVERLAP,
            limits=PeerLimits(window_documents=self.window, buffer_documents=400),
        )


@dataclass(frozen=True, slots=True)
class Move:
    """A child left a peer whose overhead was too high."""

    document: int
    ratio: float
    """The peer's overhead between this move and its next one, relative to the one before."""


@dataclass(slots=True)
class OverlayRun:
    """What was measured in a run."""

    configuration: RunConfiguration
    overheads: list[float] = field(default_factory=list)
    """Of each node over the whole run, the largest first."""

    system_overhead: float = 0.0
    late_overhead: float = 0.0
    """System overhead over the second half of the run."""

    interior_overhead: float = 0.0
    """Mean over the nodes that received extraneous documents."""

    depths: list[float] = field(default_factory=list)
    """Weighted average depth of each node, the largest first."""

    over_time: list[tuple[int, float]] = field(default_factory=list)
    """Documents published, and the mean overhead of nodes that have any, since the last point."""

    moves: list[Move] = field(default_factory=list)
    pictures: list[TreePicture] = field(default_factory=list)
    """The tree when the first statistics are there, and at the end."""

    messages: dict[str, int] = field(default_factory=dict)

    @property
    def mean_depth(self) -> float:
        """Mean of the weighted average depths."""
        return sum(self.depths) / len(self.depths)


class _Observer:
    """Follows depths and moves while a simulation runs."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.published = 0
        self.depth_sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        self._parents: dict[str, str] = {}
        self.moved_from: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        """By peer: documents published, received and extraneous when a child left it."""

    def __call__(self, name: str, output: PeerOutput, now: float) -> None:
        if type(output) is Deliver:
            sums = self.depth_sums[name]
            sums[0] += len(self._simulator.peers[name].memberships[SOURCE].path)
            sums[1] += 1
        elif type(output) is Connected:
            left = self._parents.get(name)
            self._parents[name] = output.parent
            if left is not None and left not in (output.parent, SOURCE):
                traffic = self._simulator.traffic[left]
                self.moved_from[left].append((self.published, traffic.received, traffic.extraneous))


def run_overlay(configuration: RunConfiguration, *, points: int = 50) -> OverlayRun:
    """Peers join one after the other, then documents are published."""
    simulator = Simulator(configuration.model(), seed=configuration.seed, keeps_logs=False)
    observer = _Observer(simulator)
    simulator.outputs.append(observer)
    options = configuration.peer_options()
    simulator.add_source(SOURCE, options)
    names = [f"p{number}" for number in range(configuration.nodes)]
    for name, interest in zip(names, configuration.interests(), strict=True):
        simulator.add_peer(name, SOURCE, interest, options)
        simulator.run(until=simulator.now + JOIN_SECONDS)
    simulator.run(until=simulator.now + SETTLE_SECONDS)
    run = OverlayRun(configuration)
    interval = max(1, configuration.documents // points)
    before = dict.fromkeys(names, (0, 0))
    half = (0, 0)
    for number, document in enumerate(configuration.stream(), 1):
        simulator.publish(SOURCE, document)
        observer.published = number
        simulator.run(until=simulator.now + 1.0)
        if number % interval == 0:
            shares = []
            for name in names:
                traffic = simulator.traffic[name]
                received = traffic.received - before[name][0]
                extraneous = traffic.extraneous - before[name][1]
                before[name] = (traffic.received, traffic.extraneous)
                if extraneous > 0:
                    shares.append(extraneous / received)
            run.over_time.append((number, sum(shares) / len(shares) if shares else 0.0))
        if number == configuration.documents // 2:
            half = _totals(simulator)
        if number in {PICTURE_DOCUMENTS, configuration.documents}:
            run.pictures.append(_picture(simulator, f"after {number:,} documents"))
    _measure(run, simulator, observer, names, half)
    return run


def _picture(simulator: Simulator, title: str) -> TreePicture:
    """The tree, coloured by the overhead over the window of each peer."""
    peers = []
    for name, peer in simulator.peers.items():
        membership = peer.memberships[SOURCE]
        peers.append(PicturePeer(name, membership.parent, membership.overlap.overhead()))
    return picture_of(title, peers)


def _totals(simulator: Simulator) -> tuple[int, int]:
    received = sum(each.received for each in simulator.traffic.values())
    return received, sum(each.extraneous for each in simulator.traffic.values())


def _measure(
    run: OverlayRun,
    simulator: Simulator,
    observer: _Observer,
    names: list[str],
    half: tuple[int, int],
) -> None:
    traffic = [simulator.traffic[name] for name in names]
    overheads = [each.extraneous / each.received for each in traffic if each.received]
    run.overheads = sorted(overheads, reverse=True)
    positive = [each for each in overheads if each > 0]
    run.interior_overhead = sum(positive) / len(positive) if positive else 0.0
    received, extraneous = _totals(simulator)
    run.system_overhead = extraneous / max(1, received)
    run.late_overhead = (extraneous - half[1]) / max(1, received - half[0])
    run.depths = sorted(
        (total / count for total, count in observer.depth_sums.values()), reverse=True
    )
    run.messages = dict(simulator.messages)
    moves = []
    for name, events in observer.moved_from.items():
        last = simulator.traffic[name]
        counts = [(0, 0, 0), *events, (0, last.received, last.extraneous)]
        for earlier, event, later in zip(counts, counts[1:], counts[2:], strict=False):
            before = event[1] - earlier[1], event[2] - earlier[2]
            after = later[1] - event[1], later[2] - event[2]
            if before[1] > 0 and after[0] > 0:
                ratio = (after[1] / after[0]) / (before[1] / before[0])
                moves.append(Move(event[0], ratio))
    run.moves = sorted(moves, key=lambda move: move.document)


@dataclass(frozen=True, slots=True)
class SienaRun:
    """What was measured of the baseline, by both definitions of a broker's overhead."""

    overheads: list[float]
    """Of each broker, the largest first: documents that it did not subscribe to itself."""

    passed_on: list[float]
    """The same, less documents that one of its clients subscribed to."""

    overhead: float
    """Of all brokers together."""

    passed_on_overhead: float


def run_siena(configuration: RunConfiguration) -> SienaRun:
    """The baseline over the same documents."""
    network = SienaNetwork(
        configuration.model(),
        configuration.interests(),
        fan_out=configuration.fan_out,
        random=random.Random(f"{configuration.seed}/siena"),
    )
    for document in configuration.stream():
        network.publish(document)
    return SienaRun(
        sorted((broker.overhead for broker in network.brokers), reverse=True),
        sorted((broker.passed_on_share for broker in network.brokers), reverse=True),
        network.overhead(),
        network.passed_on_overhead(),
    )
