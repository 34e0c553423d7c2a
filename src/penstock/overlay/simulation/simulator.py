"""A deterministic simulator of many peers, in virtual time."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from penstock.overlay.agent import AgentOptions, SystemAgent
from penstock.overlay.interest import Interest, InterestModel, OverlayDocument
from penstock.overlay.membership import Membership
from penstock.overlay.options import PeerOptions
from penstock.overlay.peer import Peer
from penstock.overlay.peer_messages import AnyPeerMessage, Forward, Replay
from penstock.overlay.peer_outputs import (
    Connected,
    Deliver,
    EpochChanged,
    GapReported,
    PeerOutput,
    Send,
)
from penstock.overlay.simulation.network import NetworkOptions, SimulatedNetwork

AGENT = "agent"
"""The name of the system agent in a simulation."""


@dataclass(slots=True)
class SubscriberLog:
    """What a subscriber received of one source, for the checkers."""

    interests: list[tuple[int, Interest]] = field(default_factory=list)
    """Subscriptions, each with the number of confirmations before it."""

    connections: list[tuple[float, int, int]] = field(default_factory=list)
    """Time, epoch and sequence number of each confirmation of the present subscription."""

    deliveries: list[tuple[int, int]] = field(default_factory=list)
    """Epoch and sequence number, in the order of delivery."""

    gaps: list[tuple[int, int, int]] = field(default_factory=list)
    """Epoch, first and last sequence number that were reported as lost."""

    epochs: list[tuple[int, int, int]] = field(default_factory=list)
    """New epoch, former epoch, and the last sequence number of it that was processed."""


@dataclass(slots=True)
class Traffic:
    """Documents that a peer received and delivered."""

    received: int = 0
    extraneous: int = 0


class Simulator:
    """Runs peers on a simulated network. The same seed gives the same run.

    Parameters
    ----------
    model
        The language of interests.
    seed
        Of everything random.
    network
        Latency and faults.
    agent
        Settings of the system agent; without them there is none.
    keeps_logs
        Whether deliveries are recorded for the checkers.

    Examples
    --------
    >>> from penstock.overlay import BucketDocument, BucketInterest, BucketModel
    >>> simulator = Simulator(BucketModel(), seed=1)
    >>> simulator.add_source("source")
    >>> for number in range(3):
    ...     simulator.add_peer(f"p{number}", "source", BucketInterest.of(number))
    >>> simulator.run(until=5.0)
    >>> simulator.publish("source", BucketDocument(1, 0b101))
    >>> simulator.run(until=10.0)
    >>> [simulator.traffic[f"p{number}"].received for number in range(3)]
    [1, 0, 1]
    """

    def __init__(
        self,
        model: InterestModel,
        *,
        seed: int,
        network: NetworkOptions | None = None,
        agent: AgentOptions | None = None,
        keeps_logs: bool = True,
    ) -> None:
        self.model = model
        self.seed = seed
        self.now = 0.0
        self.random = random.Random(f"{seed}/workload")
        self.network = SimulatedNetwork(
            network or NetworkOptions(), model, random.Random(f"{seed}/network")
        )
        self.peers: dict[str, Peer] = {}
        self.agent = (
            SystemAgent(agent, random=random.Random(f"{seed}/agent")) if agent is not None else None
        )
        self.published: dict[str, list[tuple[int, int, OverlayDocument]]] = {}
        """By source: epoch, sequence number, document."""
        self.logs: dict[tuple[str, str], SubscriberLog] = {}
        """By source and peer."""
        self.traffic: dict[str, Traffic] = {}
        self.messages: Counter[str] = Counter()
        """Messages sent, by type."""
        self.outputs: list[Callable[[str, PeerOutput, float], None]] = []
        """Called with each output that is no message, and the peer and time of it."""

        self._keeps_logs = keeps_logs
        self._incarnations: Counter[str] = Counter()
        self._events: list[
            tuple[float, int, str, str | None, AnyPeerMessage | Callable[[], None] | None]
        ] = []
        self._count = 0
        self._ticks: dict[str, float] = {}

    # Peers

    def new_peer(self, name: str, options: PeerOptions | None = None) -> Peer:
        """Adds a peer that is in no tree; the same name again restarts it without its state."""
        self._incarnations[name] += 1
        peer = Peer(
            name,
            model=self.model,
            options=options,
            random=random.Random(f"{self.seed}/{name}/{self._incarnations[name]}"),
            incarnation=self._incarnations[name],
        )
        self.peers[name] = peer
        self.traffic.setdefault(name, Traffic())
        return peer

    def add_source(
        self, name: str, options: PeerOptions | None = None, *, epoch: int | None = None
    ) -> None:
        """Adds a source, or restarts it; without ``epoch`` with a larger one."""
        peer = self.new_peer(name, options)
        self.published.setdefault(name, [])
        agent = AGENT if self.agent is not None else None
        epoch = self._incarnations[name] if epoch is None else epoch
        self._process(name, peer.serve(epoch=epoch, now=self.now, agent=agent))

    def add_peer(
        self,
        name: str,
        source: str,
        interest: Interest,
        options: PeerOptions | None = None,
        *,
        seeds: Iterable[str] = (),
    ) -> None:
        """Adds a peer that joins a tree, or restarts it without its state."""
        self.new_peer(name, options)
        self.logs.pop((source, name), None)
        self.join(name, source, interest, seeds=seeds)

    def join(
        self, name: str, source: str, interest: Interest, *, seeds: Iterable[str] = ()
    ) -> None:
        """A peer joins a tree."""
        log = self.logs.setdefault((source, name), SubscriberLog())
        log.interests.append((len(log.connections), interest))
        agent = AGENT if self.agent is not None else None
        peer = self.peers[name]
        self._process(name, peer.join(source, interest, self.now, seeds=seeds, agent=agent))

    def change_interest(self, name: str, source: str, interest: Interest) -> None:
        """A peer changes its subscription."""
        log = self.logs[source, name]
        log.interests.append((len(log.connections), interest))
        self._process(name, self.peers[name].change_interest(source, interest, self.now))

    def leave(self, name: str, source: str) -> None:
        """A peer leaves a tree gracefully."""
        self._process(name, self.peers[name].leave(source, self.now))

    def crash(self, name: str) -> None:
        """A peer stops without notice."""
        del self.peers[name]
        self._ticks.pop(name, None)

    def publish(self, source: str, document: OverlayDocument) -> None:
        """A source publishes a document."""
        peer = self.peers[source]
        outputs = peer.publish(document, self.now)
        stream = peer.memberships[source].stream
        self.published[source].append((stream.epoch, stream.cursor, document))
        self._process(source, outputs)

    def membership(self, name: str, source: str) -> Membership:
        """A peer's membership in a tree."""
        return self.peers[name].membership(source)

    # Time

    def end_reorganisation(self) -> None:
        """No peer asks a child to move any more, so that the trees come to rest."""
        for peer in self.peers.values():
            for membership in peer.memberships.values():
                # `None` would be replaced by a time at the next connection.
                membership.reorganisation.examine_at = math.inf

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Schedules an action."""
        self._push(time, "", None, action)

    def run(self, until: float) -> None:
        """Processes everything up to a time."""
        events, peers, process = self._events, self.peers, self._process
        while events and events[0][0] <= until:
            now, _, name, sender, content = heappop(events)
            self.now = now
            if sender is not None:
                peer = peers.get(name)
                if peer is None:
                    if name == AGENT and self.agent is not None:
                        self._run_agent(self.agent.receive(sender, content, now))  # type: ignore[arg-type]
                    continue
                if type(content) is Forward:
                    self._receive_document(peer, sender, content, now)
                    continue
                if type(content) is Replay:
                    traffic = self.traffic[name]
                    traffic.received += len(content.documents)
                    traffic.extraneous += len(content.documents)
                process(name, peer.receive(sender, content, now))  # type: ignore[arg-type]
            elif callable(content):
                content()
            elif name == AGENT and self.agent is not None:
                self._run_agent(self.agent.tick(now))
            elif self._ticks.get(name) == now:
                del self._ticks[name]
                process(name, peers[name].tick(now))
        self.now = max(self.now, until)

    def _receive_document(self, peer: Peer, sender: str, message: Forward, now: float) -> None:
        traffic = self.traffic[peer.name]
        outputs = peer.receive(sender, message, now)
        traffic.received += 1
        traffic.extraneous += 1
        # A document changes no timer.
        if outputs:
            self._carry_out(peer.name, outputs)

    def _process(self, name: str, outputs: list[PeerOutput]) -> None:
        if outputs:
            self._carry_out(name, outputs)
        peer = self.peers.get(name)
        due = None if peer is None else peer.next_timer
        if due is not None and self._ticks.get(name, float("inf")) > due:
            due = max(due, self.now)
            self._ticks[name] = due
            self._push(due, name, None, None)

    def _carry_out(self, name: str, outputs: list[PeerOutput]) -> None:
        for output in outputs:
            if type(output) is Send:
                self._transmit(name, output)
                continue
            if type(output) is Deliver:
                self.traffic[name].extraneous -= 1
            if self._keeps_logs:
                self._log(name, output)
            for observer in self.outputs:
                observer(name, output, self.now)

    def _transmit(self, name: str, output: Send) -> None:
        message = output.message
        self.messages[type(message).__name__] += 1
        for arrival in self.network.arrivals(name, output.peer, message, self.now):
            self._push(arrival, output.peer, name, message)

    def _push(
        self,
        time: float,
        name: str,
        sender: str | None,
        content: AnyPeerMessage | Callable[[], None] | None,
    ) -> None:
        self._count += 1
        heappush(self._events, (time, self._count, name, sender, content))

    def _run_agent(self, outputs: list[Send]) -> None:
        for output in outputs:
            self._transmit(AGENT, output)
        assert self.agent is not None
        if self.agent.next_timer is not None:
            self._push(max(self.now, self.agent.next_timer), AGENT, None, None)

    def _log(self, name: str, output: PeerOutput) -> None:
        match output:
            case Deliver():
                log = self.logs[output.source, name]
                log.deliveries.append((output.epoch, output.sequence))
            case Connected():
                log = self.logs[output.source, name]
                if output.is_current:
                    log.connections.append((self.now, output.epoch, output.sequence))
            case GapReported():
                log = self.logs[output.source, name]
                log.gaps.append((output.epoch, output.first, output.last))
            case EpochChanged() if output.source != name:
                log = self.logs[output.source, name]
                log.epochs.append((output.epoch, output.last_epoch, output.last_sequence))
            case _:
                pass
