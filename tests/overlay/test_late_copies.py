"""Late copies of requests and answers: nothing that a peer stated since is undone by them."""

from __future__ import annotations

import random
from typing import NamedTuple

from penstock.overlay import (
    BucketDocument,
    BucketInterest,
    BucketModel,
    Connected,
    Deliver,
    MembershipState,
    Peer,
    PeerOptions,
)
from penstock.overlay.interest import Interest
from penstock.overlay.membership import Membership
from penstock.overlay.peer_messages import (
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    Detach,
    FilterRequest,
    Leaving,
    NotChild,
)
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

    def __init__(self, *names: str, fan_out: int = 6) -> None:
        options = PeerOptions(fan_out=fan_out)
        self.peers = {
            name: Peer(name, model=MODEL, random=random.Random(name), options=options)
            for name in (SOURCE, *names)
        }
        self.now = 0.0
        self.flying: list[InFlight] = []
        self.sent: list[InFlight] = []
        self.delivered: dict[str, list[int]] = {name: [] for name in self.peers}
        self.connections: list[tuple[str, Connected]] = []
        self.take(SOURCE, self.peers[SOURCE].serve(epoch=1, now=0.0))

    def member(self, name: str) -> Membership:
        return self.peers[name].membership(SOURCE)

    def take(self, name: str, outputs: list[PeerOutput]) -> None:
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

    def settle(self) -> None:
        """Everything that is on its way arrives."""
        while self.flying:
            self.deliver(self.flying.pop(0))

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

    def rest(self) -> None:
        """A minute passes without faults."""
        for _ in range(24):
            self.settle()
            self.now += 2.5
            for name, peer in self.peers.items():
                self.take(name, peer.tick(self.now))
        self.settle()


def covers(interest: Interest, other: BucketInterest) -> bool:
    assert isinstance(interest, BucketInterest)
    return MODEL.covers(interest, other)


def test_a_late_request_does_not_bring_an_older_filter_back() -> None:
    world = World("c")
    world.join("c", BucketInterest.of(0), SOURCE)
    world.settle()
    late = world.last(AttachRequest, "c")
    world.take("c", world.peers["c"].change_interest(SOURCE, BucketInterest(0b11), 0.0))
    world.settle()
    assert world.connections[-1][1].is_current
    # The source takes the child for dead, and gets another copy of its first request.
    world.lose_child(SOURCE, "c")
    world.deliver(late)
    world.publish(0b10)
    world.publish(0b01)
    world.run(SOURCE, 5.0)
    world.rest()
    assert world.delivered["c"] == [1, 2]


def test_a_late_request_does_not_bring_an_older_edge_back() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), SOURCE)
    world.settle()
    late = world.last(AttachRequest, "c")
    # The child loses its parent, changes its subscription and joins the same parent again.
    edge = world.member("c").edge
    assert edge is not None
    world.deliver(InFlight(SOURCE, "c", NotChild(SOURCE, edge)))
    world.take("c", world.peers["c"].change_interest(SOURCE, BucketInterest(0b110), 0.0))
    world.rest()
    assert world.member("c").parent == SOURCE
    world.lose_child(SOURCE, "c")
    world.deliver(late)
    world.publish(0b100)
    world.publish(0b010)
    world.rest()
    assert world.delivered["c"] == [1, 2]


def test_a_confirmation_does_not_count_for_a_filter_that_was_narrower_in_between() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    confirmation = world.settle_until(AttachConfirmation, "p")
    request = world.last(AttachRequest, "c")
    # The parent takes the child for dead, and states a narrower filter.
    world.lose_child("p", "c")
    world.run("p")
    world.settle()
    assert world.member(SOURCE).children["p"].filter == BucketInterest.of(0)
    world.publish(0b10)
    # A copy of the request arrives, and only then the confirmation of the first one.
    world.deliver(request)
    world.deliver(confirmation)
    connected = [each.sequence for name, each in world.connections if name == "c"]
    assert connected == []
    world.publish(0b10)
    world.rest()
    connected = [each.sequence for name, each in world.connections if name == "c"]
    assert world.delivered["c"] == list(range(connected[0] + 1, 3))


def test_a_narrower_filter_ends_what_attempts_under_way_have_stated() -> None:
    world = World("p", "c", "d")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("d", BucketInterest.of(2), "p")
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    confirmation = world.settle_until(AttachConfirmation, "p")
    # Another child leaves, and the parent states its filter before it gets the confirmation.
    attempt = world.member("p").children["d"].attempt
    world.deliver(InFlight("d", "p", Detach(SOURCE, attempt)))
    world.deliver(InFlight(SOURCE, "p", FilterRequest(SOURCE)))
    world.settle()
    world.publish(0b100)
    world.deliver(confirmation)
    member = world.member("p")
    assert not member.filter.coverage.covers(1, 1, BucketInterest.of(2))
    assert not covers(member.filter.confirmed, BucketInterest.of(2))


def test_a_filter_that_is_narrowed_while_it_is_widened_is_not_confirmed() -> None:
    world = World("p", "d")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("d", BucketInterest.of(2), "p")
    world.settle()
    world.take("p", world.peers["p"].change_interest(SOURCE, BucketInterest.of(1), 0.0))
    confirmation = world.settle_until(AttachConfirmation, "p")
    attempt = world.member("p").children["d"].attempt
    world.deliver(InFlight("d", "p", Detach(SOURCE, attempt)))
    world.deliver(InFlight(SOURCE, "p", FilterRequest(SOURCE)))
    world.settle()
    world.publish(0b100)
    world.deliver(confirmation)
    member = world.member("p")
    assert covers(member.filter.confirmed, BucketInterest.of(1))
    assert not member.filter.coverage.covers(1, 1, BucketInterest.of(2))
    assert not covers(member.filter.confirmed, BucketInterest.of(2))


def full_parent() -> World:
    """A peer with two children, as many as it can have; the test plays further ones."""
    world = World("p", "c", "d", fan_out=2)
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    for name in ("c", "d"):
        world.join(name, BucketInterest.of(0), "p")
        world.settle()
    assert active_children(world) == {"c", "d"}
    return world


def active_children(world: World) -> set[str]:
    return {each.name for each in world.member("p").children.values() if each.is_active}


def request(world: World, name: str, number: int, displaced: str | None = None) -> None:
    """A peer that the test plays asks to attach; its answers are lost."""
    world.peers.setdefault(name, Peer(name, model=MODEL, random=random.Random(0)))
    wanted = BucketInterest.of(0)
    attempt = Attempt(name, 1, number)
    message = AttachRequest(SOURCE, attempt, None, wanted, 0, None, (name,), displaced)
    world.deliver(InFlight(name, "p", message))


def test_an_attempt_does_not_inherit_the_promise_of_another_childs_place() -> None:
    world = full_parent()
    request(world, "m", 1, displaced="d")
    # The attempt is given up, which does not arrive, and the next one displaces nobody.
    request(world, "m", 2)
    assert [type(each.message) for each in world.sent[-1:]] == [AttachRefusal]
    world.settle()
    assert active_children(world) in ({"c", "d"}, {"c", "m"})


def test_a_displaced_child_that_attaches_anew_does_not_keep_its_place() -> None:
    world = full_parent()
    request(world, "m", 1, displaced="d")
    request(world, "d", 9)
    world.settle()
    assert active_children(world) == {"c", "m"}


def test_the_place_of_a_leaving_child_is_promised_to_one_peer() -> None:
    world = full_parent()
    edge = world.member("p").children["d"].edge
    world.deliver(InFlight("d", "p", Leaving(SOURCE, edge, "m")))
    request(world, "m", 1)
    world.deliver(InFlight("d", "p", Leaving(SOURCE, edge, "n")))
    request(world, "n", 1)
    assert [type(each.message) for each in world.sent[-1:]] == [AttachRefusal]
    world.settle()
    assert active_children(world) == {"c", "m"}
