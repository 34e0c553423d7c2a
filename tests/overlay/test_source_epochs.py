"""Epochs of a source that restarts, with a clock that may have gone back."""

from __future__ import annotations

import msgspec
import pytest

from penstock.errors import OverlayError
from penstock.links.message import Message
from penstock.overlay import BucketDocument, BucketInterest, BucketModel, MessageCodec
from penstock.overlay.limits import EPOCH_MAX
from penstock.overlay.message_codec import OVERLAY_MESSAGE
from penstock.overlay.peer_messages import AnyPeerMessage, AttachRequest, Attempt
from penstock.overlay.simulation import (
    Simulator,
    check_caught_up,
    check_nothing_lost,
    check_one_tree,
    check_order,
    run_scenario,
)
from penstock.overlay.simulation.scenario import ScenarioOptions

SOURCE = "source"
REQUEST = AttachRequest(
    SOURCE, Attempt("p", 1, 2), None, BucketInterest.of(1), 0, None, ("p",), epoch=7
)


def chain(epoch: int) -> Simulator:
    """A source, a peer, and a peer below it."""
    simulator = Simulator(BucketModel(), seed=1)
    simulator.add_source(SOURCE, epoch=epoch)
    for name, seed in (("p", SOURCE), ("q", "p")):
        simulator.add_peer(name, SOURCE, BucketInterest.of(0), seeds=[seed])
        simulator.run(until=simulator.now + 1)
    return simulator


def publish(simulator: Simulator, documents: int) -> None:
    for number in range(documents):
        simulator.publish(SOURCE, BucketDocument(number, 0b1))
        simulator.run(until=simulator.now + 1)


def restart(simulator: Simulator, epoch: int) -> None:
    simulator.crash(SOURCE)
    simulator.add_source(SOURCE, epoch=epoch)


def check_all(simulator: Simulator) -> None:
    check_one_tree(simulator, SOURCE)
    check_order(simulator)
    check_nothing_lost(simulator, SOURCE)
    check_caught_up(simulator, SOURCE)


def test_peers_join_a_source_again_whose_clock_went_back() -> None:
    simulator = chain(epoch=5_000)
    publish(simulator, 3)
    restart(simulator, epoch=4_000)
    simulator.run(until=simulator.now + 60)
    assert simulator.membership(SOURCE, SOURCE).stream.epoch == 5_001
    publish(simulator, 3)
    simulator.run(until=simulator.now + 10)
    check_all(simulator)
    for name in ("p", "q"):
        log = simulator.logs[SOURCE, name]
        assert log.deliveries == [(epoch, each) for epoch in (5_000, 5_001) for each in (1, 2, 3)]
        assert log.epochs == [(5_001, 5_000, 3)]


def test_an_epoch_that_only_a_peer_further_below_knows_reaches_the_source() -> None:
    simulator = chain(epoch=5_000)
    restart(simulator, epoch=4_000)
    simulator.add_peer("p", SOURCE, BucketInterest.of(0))
    simulator.run(until=simulator.now + 1)
    assert simulator.membership("p", SOURCE).stream.epoch == 4_000
    publish(simulator, 2)
    simulator.run(until=simulator.now + 60)
    simulator.end_reorganisation()
    assert {each.memberships[SOURCE].stream.epoch for each in simulator.peers.values()} == {5_001}
    publish(simulator, 2)
    simulator.run(until=simulator.now + 60)
    check_all(simulator)
    assert (5_001, 2) in simulator.logs[SOURCE, "p"].deliveries
    assert (5_001, 2) in simulator.logs[SOURCE, "q"].deliveries


def test_a_source_takes_the_epoch_of_a_peer_only_if_it_is_larger() -> None:
    simulator = chain(epoch=5_000)
    restart(simulator, epoch=6_000)
    simulator.run(until=simulator.now + 60)
    assert simulator.membership(SOURCE, SOURCE).stream.epoch == 6_000
    assert simulator.membership("q", SOURCE).stream.epoch == 6_000


@pytest.mark.parametrize("seed", range(8))
def test_scenarios_in_which_the_clock_of_the_source_goes_back(seed: int) -> None:
    options = ScenarioOptions(
        peers=8, seconds=120.0, crashes=0.3, changes=0.3, source_restarts=2, clock_goes_back=True
    )
    simulator = run_scenario(seed, options)
    assert simulator.membership(SOURCE, SOURCE).stream.epoch > 100


def request_of_length(length: int) -> Message:
    """An encoded request with the first fields only, or with further ones."""
    codec = MessageCodec(BucketModel())
    fields = msgspec.msgpack.decode(codec.encode(REQUEST).body)
    fields = [*fields, *["later"] * length][:length]
    return Message(body=msgspec.msgpack.encode(fields), kind=OVERLAY_MESSAGE)


def decoded(message: Message) -> AnyPeerMessage:
    return MessageCodec(BucketModel()).decode(message)


def test_requests_with_fewer_and_with_further_fields_are_decoded() -> None:
    complete = len(REQUEST.__struct_fields__) + 1
    assert decoded(request_of_length(complete)) == REQUEST
    assert decoded(request_of_length(complete + 1)) == REQUEST
    assert decoded(request_of_length(complete - 1)) == msgspec.structs.replace(REQUEST, epoch=0)


def test_epochs_that_leave_no_larger_one_are_refused() -> None:
    codec = MessageCodec(BucketModel())
    largest = msgspec.structs.replace(REQUEST, epoch=EPOCH_MAX)
    assert codec.decode(codec.encode(largest)) == largest
    with pytest.raises(OverlayError, match="malformed"):
        codec.decode(codec.encode(msgspec.structs.replace(REQUEST, epoch=EPOCH_MAX + 1)))
