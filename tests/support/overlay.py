"""A source and a few peers of the overlay, whose messages a test delivers one by one."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

from penstock.overlay import (
    BucketDocument,
    BucketInterest,
    BucketModel,
    Connected,
    Deliver,
    MembershipState,
    Peer,
    PeerLimits,
    PeerOptions,
)
from penstock.overlay.interest import Interest
from penstock.overlay.membership import Membership
from penstock.overlay.peer_messages import AnyPeerMessage
from penstock.overlay.peer_outputs import PeerOutput, Send

SOURCE = "s"
MODEL = BucketModel()


class InFlight(NamedTuple):
    """A message on its way."""

    sender: str
    receiver: str
    message: AnyPeerMessage


class World:
    """A source and peers whose messages the test delivers."""

    def __init__(
        self, *names: str, fan_out: int = 6, limits: Mapping[str, PeerLimits] | None = None
    ) -> None:
        self.peers = {
            name: Peer(
                name,
                model=MODEL,
                random=random.Random(name),
                options=PeerOptions(fan_out=fan_out, limits=(limits or {}).get(name, PeerLimits())),
            )
            for name in (SOURCE, *names)
        }
        self.now = 0.0
        self.flying: list[InFlight] = []
        self.sent: list[InFlight] = []
        self.delivered: dict[str, list[int]] = {name: [] for name in self.peers}
        self.connections: list[tuple[str, Connected]] = []
        self.reports: defaultdict[str, list[PeerOutput]] = defaultdict(list)
        """All outputs of each peer but its messages."""
        self.take(SOURCE, self.peers[SOURCE].serve(epoch=1, now=0.0))

    def member(self, name: str) -> Membership:
        return self.peers[name].membership(SOURCE)

    def take(self, name: str, outputs: list[PeerOutput]) -> None:
        self.reports[name] += (each for each in outputs if not isinstance(each, Send))
        for output in outputs:
            match output:
                case Send():
                    self.flying.append(InFlight(name, output.peer, output.message))
                    self.sent.append(self.flying[-1])
                case Deliver():
                    self.delivered[name].append(output.sequence)
                case Connected():
                    self.connections.append((name, output))
                case _:
                    pass

    def join(self, name: str, interest: BucketInterest, seed: str) -> None:
        """A peer asks a seed for a place, and sends its first attach request."""
        peer = self.peers[name]
        outputs = peer.join(SOURCE, interest, self.now, seeds=[seed])
        self.take(name, [each for each in outputs if isinstance(each, Send) and each.peer == seed])
        self.deliver(self.flying.pop(0))
        self.deliver(self.flying.pop(0))
        if self.member(name).state is MembershipState.JOINING:
            self.member(name).time_out(self.now)
            self.take(name, peer._taken())

    def deliver(self, flying: InFlight) -> None:
        peer = self.peers[flying.receiver]
        self.take(flying.receiver, peer.receive(flying.sender, flying.message, self.now))

    def settle(self, *, without: tuple[type[AnyPeerMessage], ...] = ()) -> list[InFlight]:
        """Everything that is on its way arrives, except for messages of some types, which are
        returned."""
        kept = []
        while self.flying:
            flying = self.flying.pop(0)
            if isinstance(flying.message, without):
                kept.append(flying)
            elif flying.receiver in self.peers:
                self.deliver(flying)
        return kept

    def settle_until(self, kind: type[AnyPeerMessage], receiver: str) -> InFlight:
        """Everything arrives until a message is on its way, which is taken from there."""
        while True:
            flying = self.flying.pop(0)
            if isinstance(flying.message, kind) and flying.receiver == receiver:
                return flying
            self.deliver(flying)

    def last(self, kind: type[AnyPeerMessage], sender: str) -> InFlight:
        return [
            each for each in self.sent if isinstance(each.message, kind) and each.sender == sender
        ][-1]

    def run(self, name: str, seconds: float = 2.5) -> None:
        """Time passes for one peer, which processes its timers."""
        self.now += seconds
        self.take(name, self.peers[name].tick(self.now))

    def publish(self, buckets: int) -> None:
        document = BucketDocument(0, buckets)
        self.take(SOURCE, self.peers[SOURCE].publish(document, self.now))

    def lose_child(self, name: str, child: str) -> None:
        self.member(name).lose_child(child, self.now)
        self.take(name, self.peers[name]._taken())

    def rest(
        self, seconds: float = 60.0, *, without: tuple[type[AnyPeerMessage], ...] = ()
    ) -> None:
        """Time passes without faults, or while messages of some types are lost."""
        for _ in range(int(seconds / 2.5)):
            self.settle(without=without)
            self.now += 2.5
            for name, peer in self.peers.items():
                self.take(name, peer.tick(self.now))
        self.settle(without=without)


def covers(interest: Interest, other: BucketInterest) -> bool:
    assert isinstance(interest, BucketInterest)
    return MODEL.covers(interest, other)
