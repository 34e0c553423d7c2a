"""Late copies of requests and answers: nothing that a peer stated since is undone by them."""

from __future__ import annotations

import random

from penstock.overlay import BucketInterest, Peer
from penstock.overlay.peer_messages import (
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    Detach,
    FilterRequest,
    FilterStatement,
    Leaving,
    NotChild,
)
from support.overlay import MODEL, SOURCE, InFlight, World, covers


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


def test_a_filter_that_is_widened_again_is_stated_again() -> None:
    """It is narrowed and widened while the attempt to widen it first is under way."""
    world = World("p", "c")
    world.join("p", BucketInterest.of(1), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    world.settle()
    wide, narrow = BucketInterest(0b110), BucketInterest.of(1)
    world.take("c", world.peers["c"].change_interest(SOURCE, wide, 0.0))
    late = world.settle_until(AttachConfirmation, "c")
    world.take("c", world.peers["c"].change_interest(SOURCE, narrow, 0.0))
    world.deliver(InFlight("p", "c", FilterRequest(SOURCE)))
    statement = world.settle_until(FilterStatement, "p")
    world.deliver(statement)
    assert world.member("p").children["c"].filter == narrow
    world.take("c", world.peers["c"].change_interest(SOURCE, wide, 0.0))
    world.deliver(late)
    assert not covers(world.member("c").filter.confirmed, wide)
    connected = len(world.connections)
    world.publish(0b100)
    world.rest()
    last = world.connections[-1][1]
    assert last.is_current
    assert len(world.connections) > connected
    world.publish(0b100)
    world.rest()
    assert world.delivered["c"] == list(range(last.sequence + 1, 3))


def test_a_request_that_a_newer_statement_has_overtaken_is_ignored() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    world.settle()
    world.take("c", world.peers["c"].change_interest(SOURCE, BucketInterest(0b110), 0.0))
    overtaken = world.settle_until(AttachRequest, "p")
    child = world.member("p").children["c"]
    newer = FilterStatement(SOURCE, child.edge, child.version + 2, BucketInterest.of(1))
    world.deliver(InFlight("c", "p", newer))
    world.deliver(overtaken)
    assert child.filter == BucketInterest.of(1)
    assert not world.member("p").filter.relayed


def test_a_late_confirmation_does_not_count_for_what_was_stated_again_since() -> None:
    """The filter above the relaying peer is the same all the time, so its version does not tell."""
    world = World("p", "q", "m")
    world.join("p", BucketInterest(0b1111), SOURCE)
    world.settle()
    world.join("q", BucketInterest.of(3), "p")
    world.settle()
    world.join("m", BucketInterest.of(2), "q")
    late = world.settle_until(AttachConfirmation, "p")
    # The peer in the middle takes the new child for dead, and its filter is narrowed.
    world.lose_child("q", "m")
    world.deliver(InFlight("p", "q", FilterRequest(SOURCE)))
    world.deliver(world.settle_until(FilterStatement, "p"))
    world.publish(0b100)
    world.settle()
    # The child repeats its request, and only then the confirmation of the first one arrives.
    world.run("m")
    world.deliver(world.settle_until(AttachRequest, "q"))
    world.deliver(world.settle_until(AttachRequest, "p"))
    world.deliver(late)
    world.rest()
    connected = [each.sequence for name, each in world.connections if name == "m"]
    assert connected == [1]


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
