"""Gaps: what is missing is replayed or reported, and nothing is held back for ever."""

from __future__ import annotations

from penstock.overlay import (
    BucketDocument,
    BucketInterest,
    Connected,
    Deliver,
    Disconnected,
    EpochChanged,
    GapReported,
    Left,
    Peer,
    PeerLimits,
)
from penstock.overlay.ordered_stream import OrderedStream, StreamItem
from penstock.overlay.peer_messages import (
    AttachConfirmation,
    ChildHeartbeat,
    Forward,
    NotChild,
    ParentHeartbeat,
    Replay,
    Replayed,
    ReplayRequest,
)
from penstock.overlay.peer_outputs import PeerOutput
from support.overlay import MODEL, SOURCE, InFlight, World


def chain(*names: str, limits: dict[str, PeerLimits] | None = None) -> World:
    """Each peer is a child of the one before it."""
    world = World(*names, limits=limits)
    for above, name in zip((SOURCE, *names), names, strict=False):
        world.join(name, BucketInterest.of(0), above)
        world.settle()
    for name in names:
        world.reports[name].clear()
    return world


def hold_back_behind_the_first(world: World, documents: int) -> None:
    """The first document is lost on its way, and so is every request for it."""
    for number in range(documents):
        world.publish(0b1)
        if number == 0:
            world.flying.clear()
        world.settle(without=(ReplayRequest,))


def story(world: World, name: str) -> list[object]:
    """What a peer reported: deliveries by number, gaps by their ends, and the rest by type."""
    return [told(each) for each in world.reports[name] if not isinstance(each, Disconnected)]


def told(output: PeerOutput) -> object:
    match output:
        case Deliver():
            return output.sequence
        case GapReported():
            return output.first, output.last
        case _:
            return type(output)


def test_documents_behind_a_gap_are_delivered_if_the_source_is_gone() -> None:
    world = chain("p", "q")
    hold_back_behind_the_first(world, 5)
    del world.peers[SOURCE]
    world.rest(60.0)
    assert story(world, "p") == []
    world.rest(120.0)
    assert story(world, "p") == story(world, "q") == [(1, 1), 2, 3, 4, 5]


def test_a_gap_is_not_given_up_as_long_as_it_becomes_shorter() -> None:
    world = chain("p")
    for number in range(4):
        world.publish(0b1)
        if number in {0, 2}:
            world.flying.clear()
        world.settle(without=(ReplayRequest,))
    world.rest(100.0, without=(ReplayRequest,))
    first = Replay(SOURCE, 1, 1, 1, 0, (Replayed(1, BucketDocument(0, 0b1)),))
    world.deliver(InFlight(SOURCE, "p", first))
    world.rest(100.0, without=(ReplayRequest,))
    assert story(world, "p") == [1, 2]
    world.rest(30.0, without=(ReplayRequest,))
    assert story(world, "p") == [1, 2, (3, 3), 4]


def test_documents_behind_a_gap_are_delivered_before_a_peer_has_left() -> None:
    world = chain("p", "q")
    hold_back_behind_the_first(world, 5)
    world.take("p", world.peers["p"].leave(SOURCE, world.now))
    # Its child finds another parent first, which may have what is missing.
    world.rest(10.0)
    assert story(world, "p")[-6:] == [(1, 1), 2, 3, 4, 5, Left]
    assert story(world, "q")[-5:] == [1, 2, 3, 4, 5]


def test_documents_behind_a_gap_are_delivered_before_the_next_epoch() -> None:
    world = chain("p", "q")
    hold_back_behind_the_first(world, 5)
    again = Peer(SOURCE, model=MODEL, random=world.peers[SOURCE].random, incarnation=2)
    world.peers[SOURCE] = again
    world.take(SOURCE, again.serve(epoch=2, now=world.now))
    world.rest()
    for name in ("p", "q"):
        assert story(world, name)[:6] == [(1, 1), 2, 3, 4, 5, EpochChanged]
        changed = next(each for each in world.reports[name] if isinstance(each, EpochChanged))
        assert changed.last_sequence == 5


def given_up(*held: tuple[int, int], expected: int) -> list[object]:
    """What a stream at 0 gives up, with items of a number and the one before it."""
    stream = OrderedStream(held_max=10, bytes_max=1_000, size=len)
    stream.start(1, 0)
    stream.expect(expected)
    for sequence, previous in held:
        assert stream.offer(StreamItem(sequence, previous, "document")) == []
    items = stream.give_up()
    assert stream.is_complete
    assert stream.cursor == max([expected, *(sequence for sequence, _ in held)])
    return [(each.lost_from, each.sequence) if each.lost_from else each.sequence for each in items]


def test_a_stream_that_is_given_up_loses_no_document_that_is_held() -> None:
    assert given_up((12, 11), expected=20) == [(1, 11), 12, (13, 20)]
    assert given_up((4, 3), (9, 6), expected=2) == [(1, 3), 4, (5, 6), 9]
    assert given_up((4, 3), (5, 4), expected=3) == [(1, 3), 4, 5]
    assert given_up(expected=3) == [(1, 3)]
    assert given_up(expected=0) == []


def late_confirmation(world: World) -> list[InFlight]:
    """A peer joins below another one, which gets the confirmation later."""
    world.join("c", BucketInterest.of(0), "p")
    return world.settle(without=(AttachConfirmation,))


def confirm_first(world: World, late: list[InFlight]) -> None:
    """The confirmation arrives, before the documents even if it is sent after them."""
    world.flying += late
    world.flying = world.settle(without=(Forward,))


def test_a_child_misses_nothing_that_its_parent_has_evicted_already() -> None:
    world = World("p", "c", limits={"p": PeerLimits(buffer_documents=5)})
    world.join("p", BucketInterest(0b11), SOURCE)
    world.settle()
    late = late_confirmation(world)
    for _ in range(20):
        world.publish(0b1)
        world.settle()
    confirm_first(world, late)
    world.rest()
    assert world.delivered["c"] == list(range(1, 21))


def test_a_child_is_told_what_its_parent_reported_before_it_was_active() -> None:
    world = World("p", "c", limits={SOURCE: PeerLimits(buffer_documents=3)})
    world.join("p", BucketInterest(0b11), SOURCE)
    world.settle()
    late = late_confirmation(world)
    for number in range(11):
        world.publish(0b1)
        world.settle(without=(Forward,) if number < 10 else ())
    assert GapReported(SOURCE, 1, 1, 8) in world.reports["p"]
    confirm_first(world, late)
    world.rest()
    assert GapReported(SOURCE, 1, 1, 8) in world.reports["c"]
    assert world.delivered["c"] == [9, 10, 11]


def test_a_new_child_gets_the_confirmation_before_the_documents_that_it_is_behind() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest(0b11), SOURCE)
    world.settle()
    late = late_confirmation(world)
    for _ in range(3):
        world.publish(0b1)
        world.settle()
    # Links keep the order: no heartbeat is needed.
    world.flying += late
    world.settle(without=(ParentHeartbeat, ChildHeartbeat, ReplayRequest))
    assert world.delivered["c"] == [1, 2, 3]


def connections(world: World, name: str) -> list[tuple[int, bool]]:
    """Sequence number of each ``Connected``, and whether it is current."""
    return [
        (each.sequence, each.is_current)
        for each in world.reports[name]
        if isinstance(each, Connected)
    ]


def test_a_changed_subscription_is_confirmed_at_once_if_it_is_forwarded_already() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    world.settle()
    for _ in range(3):
        world.publish(0b10)
        world.settle()
    world.run("p")
    world.reports["p"].clear()
    for wanted in (BucketInterest.of(1), BucketInterest(0b11), BucketInterest(0)):
        world.take("p", world.peers["p"].change_interest(SOURCE, wanted, world.now))
    assert connections(world, "p") == [(3, True)] * 3


def test_a_changed_subscription_counts_after_the_gap_that_is_being_replayed() -> None:
    """The replay was requested by the former subscription."""
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    world.settle()
    world.reports["p"].clear()
    world.publish(0b1)
    world.flying.clear()
    world.publish(0b1)
    replay = world.settle(without=(Replay,))
    world.take("p", world.peers["p"].change_interest(SOURCE, BucketInterest.of(1), world.now))
    assert connections(world, "p") == [(1, True)]
    world.flying += replay
    world.settle()
    assert world.member("p").stream.cursor == 2


def test_a_subscription_that_an_attempt_of_a_child_states_is_confirmed_with_it() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.reports["p"].clear()
    world.join("c", BucketInterest.of(1), "p")
    confirmation = world.settle(without=(AttachConfirmation,))
    # The filter above is locked by the attempt under way, which is repeated with the new one.
    world.take("p", world.peers["p"].change_interest(SOURCE, BucketInterest.of(1), world.now))
    assert connections(world, "p") == []
    world.flying += confirmation
    world.settle()
    world.rest(10.0)
    assert connections(world, "p") == [(0, True)]


def test_a_subscription_that_is_not_forwarded_by_the_next_parent_is_not_confirmed_early() -> None:
    world = World("p", "c")
    world.join("p", BucketInterest.of(0), SOURCE)
    world.settle()
    world.join("c", BucketInterest.of(1), "p")
    world.settle()
    edge = world.member("p").edge
    assert edge is not None
    world.take("p", world.peers["p"].receive(SOURCE, NotChild(SOURCE, edge), world.now))
    world.reports["p"].clear()
    world.take("p", world.peers["p"].change_interest(SOURCE, BucketInterest.of(1), world.now))
    assert connections(world, "p") == []
    world.rest(10.0)
    assert connections(world, "p") == [(0, True)]
