"""Runs of overlays and of the Siena-like baseline, by configuration."""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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
from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import OverlayDocument
from penstock.overlay.membership import Membership
from penstock.overlay.simulation import Simulator
from penstock.overlay.tree_overlap import TreeOverlap
from penstock.overlay.tree_picture import PicturePeer, TreePicture, picture_of
from penstock.overlay.window_bitmap import WindowBitmap

SOURCE = "source"
SETTLE_SECONDS = 100.0
"""Virtual time for joining, before the first document."""

JOIN_SECONDS = 0.2
"""Virtual time between two joins."""


OUR_THRESHOLD = 0.05
"""Overhead above which children are asked to move, by our policy."""

OUR_EXAMINATIONS = 8
"""Examinations of a peer's overhead in an interval of reorganisation, by our policy."""

OUR_MOVES = 3
"""Children that are asked to move at once, by our policy."""

PICTURE_DOCUMENTS = 50
"""Documents after which the first picture is taken, unless a peer has moved by then."""


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
    primed_documents: int = 0
    """Documents that are published while peers join and are not measured. Without any, nobody has
    statistics before the last join, so that the structure of queries decides all of them."""

    @abstractmethod
    def model(self) -> InterestModel:
        """The language of interests."""

    @abstractmethod
    def interests(self) -> Sequence[Interest]:
        """The subscription of each node."""

    @abstractmethod
    def stream(self) -> Iterator[OverlayDocument]:
        """The documents: the same for all policies and for the baseline."""

    @abstractmethod
    def priming(self) -> Iterator[OverlayDocument]:
        """The documents that are published during the joins, of the distribution that the stream
        begins with."""

    @property
    def displaces(self) -> bool:
        """Whether a peer that moves by path cost may take the place of another."""
        return True

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
            moves_per_round=OUR_MOVES if is_ours else 1,
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

    first_overhead: float = 0.0
    """System overhead over the first documents, as many as the window has."""

    joined_depths: list[int] = field(default_factory=list)
    """Depth of each node after the joins, the largest first."""

    extraneous: int = 0
    """Transfers of documents to peers that do not subscribe to them."""

    interior_overhead: float = 0.0
    """Mean over the nodes that received extraneous documents."""

    depths: list[float] = field(default_factory=list)
    """Average depth of each node weighted by the documents that were delivered, the largest
    first."""

    received_depths: list[float] = field(default_factory=list)
    """The same weighted by the documents that the node received, which is the paper's weight."""

    over_time: list[tuple[int, float]] = field(default_factory=list)
    """Documents published, and the mean overhead of nodes that have any, since the last point."""

    moves: list[Move] = field(default_factory=list)
    """Moves whose effect on the peer that was left could be measured."""

    parent_changes: int = 0
    """All moves."""

    pictures: list[TreePicture] = field(default_factory=list)
    """The tree as the joins made it, with the last statistics before the first move, and the one at
    the end."""

    messages: dict[str, int] = field(default_factory=dict)

    @property
    def mean_depth(self) -> float:
        """Mean of the average depths weighted by deliveries."""
        return sum(self.depths) / len(self.depths)

    @property
    def mean_received_depth(self) -> float:
        """Mean of the average depths weighted by receipts."""
        return sum(self.received_depths) / len(self.received_depths)


class _WithoutDisplacement(TreeOverlap):
    """The overlap of a peer whose children are in nobody's way: no search displaces them."""

    __slots__ = ()

    def added_by(self, child: ChildLink, bitmap: WindowBitmap) -> float | None:
        """Infinite, so that the place of the child costs more than any other."""
        return math.inf


def _end_displacement(membership: Membership) -> None:
    """Nobody takes the place of a child of this peer."""
    # The class alone, so that its random numbers and statistics stay as they are.
    membership.overlap.__class__ = _WithoutDisplacement


class _Observer:
    """Follows depths and moves while a simulation runs."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self.published = 0
        self.depth_sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        """By peer: sum of the depths at its deliveries, and their number."""
        self.received_sums: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
        """The same of the documents that it received."""
        self._parents = {
            name: parent
            for name, peer in simulator.peers.items()
            if (parent := peer.memberships[SOURCE].parent) is not None
        }
        self.parent_changes = 0
        self.moved_from: defaultdict[str, list[tuple[int, int, int]]] = defaultdict(list)
        """By peer: documents published, received and extraneous when a child left it."""

    def observe_receipts(self) -> None:
        """A document has reached everybody: count it at the depth that each peer has now."""
        peers = self._simulator.peers
        for name, traffic in self._simulator.traffic.items():
            sums = self.received_sums[name]
            received = traffic.received - sums[1]
            if received:
                sums[0] += received * len(peers[name].memberships[SOURCE].path)
                sums[1] = traffic.received

    def __call__(self, name: str, output: PeerOutput, now: float) -> None:
        if type(output) is Deliver:
            sums = self.depth_sums[name]
            sums[0] += len(self._simulator.peers[name].memberships[SOURCE].path)
            sums[1] += 1
        elif type(output) is Connected:
            left = self._parents.get(name)
            self._parents[name] = output.parent
            self.parent_changes += left not in (None, output.parent)
            if left is not None and left not in (output.parent, SOURCE):
                traffic = self._simulator.traffic[left]
                self.moved_from[left].append((self.published, traffic.received, traffic.extraneous))


def run_overlay(configuration: RunConfiguration, *, points: int = 50) -> OverlayRun:
    """Peers join one after the other, then documents are published."""
    simulator = Simulator(configuration.model(), seed=configuration.seed, keeps_logs=False)
    names = [f"p{number}" for number in range(configuration.nodes)]
    _join(simulator, configuration, names)
    observer = _Observer(simulator)
    simulator.outputs.append(observer)
    run = OverlayRun(configuration)
    depths = (len(simulator.peers[name].memberships[SOURCE].path) for name in names)
    run.joined_depths = sorted(depths, reverse=True)
    interval = max(1, configuration.documents // points)
    before = dict.fromkeys(names, (0, 0))
    half = (0, 0)
    joined_tree = _picture(simulator, "after the joins")
    for number, document in enumerate(configuration.stream(), 1):
        simulator.publish(SOURCE, document)
        observer.published = number
        simulator.run(until=simulator.now + 1.0)
        observer.observe_receipts()
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
        if number == min(configuration.window, configuration.documents):
            received, extraneous = _totals(simulator)
            run.first_overhead = extraneous / max(1, received)
        if number <= PICTURE_DOCUMENTS and not observer.parent_changes:
            joined_tree = _picture(simulator, f"after the joins and {number:,} documents")
    run.pictures = [
        joined_tree,
        _picture(simulator, f"after {configuration.documents:,} documents"),
    ]
    _measure(run, simulator, observer, names, half)
    return run


def _join(simulator: Simulator, configuration: RunConfiguration, names: Sequence[str]) -> None:
    """Peers join one after the other; meanwhile unmeasured documents are published, if any."""
    options = configuration.peer_options()
    simulator.add_source(SOURCE, options)
    priming = enumerate(configuration.priming(), 1)
    published = 0
    for number, interest in enumerate(configuration.interests()):
        while published < configuration.primed_documents * number // configuration.nodes:
            published, document = next(priming)
            simulator.publish(SOURCE, document)
        simulator.add_peer(names[number], SOURCE, interest, options)
        simulator.run(until=simulator.now + JOIN_SECONDS)
    for _, document in priming:
        simulator.publish(SOURCE, document)
    if not configuration.displaces:
        for peer in simulator.peers.values():
            _end_displacement(peer.memberships[SOURCE])
    simulator.run(until=simulator.now + SETTLE_SECONDS)
    for traffic in simulator.traffic.values():
        traffic.received = traffic.extraneous = 0


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
    run.extraneous = extraneous
    run.system_overhead = extraneous / max(1, received)
    run.late_overhead = (extraneous - half[1]) / max(1, received - half[0])
    run.depths = _averages(observer.depth_sums)
    run.received_depths = _averages(observer.received_sums)
    run.messages = dict(simulator.messages)
    run.parent_changes = observer.parent_changes
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


def _averages(sums: Mapping[str, Sequence[int]]) -> list[float]:
    return sorted((total / count for total, count in sums.values() if count), reverse=True)


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
