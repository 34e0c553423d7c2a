"""An established connection: windows, acknowledgements, heartbeats, time-outs, hostile peers."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import LocalLinkError, PeerLinkError
from penstock.links import (
    Acknowledged,
    Closed,
    Established,
    LinkLimits,
    LinkOptions,
    Message,
    MessageReceived,
    SessionReset,
)
from penstock.links.frames import (
    PREAMBLE,
    PREFIX,
    Acknowledge,
    FrameType,
    Heartbeat,
    MessageStart,
    body_prefix,
    encode_control,
    encode_message_start,
)
from penstock.links.transitions import State
from support.links.fake_link import SMALL
from support.links.joined_cores import NOW, Joined, frames_in

SMALL_OPTIONS = {
    "initiator_options": LinkOptions(name="initiator", limits=SMALL),
    "responder_options": LinkOptions(name="responder", limits=SMALL),
}


def small(**options: object) -> Joined:
    """Both sides with small limits and the same options."""
    joined = Joined(
        initiator_options=replace(SMALL_OPTIONS["initiator_options"], **options),  # type: ignore[arg-type]
        responder_options=replace(SMALL_OPTIONS["responder_options"], **options),  # type: ignore[arg-type]
    )
    joined.carry()
    return joined


def received(joined: Joined) -> list[MessageReceived]:
    return [each for each in joined.events["responder"] if isinstance(each, MessageReceived)]


def error_of(joined: Joined, side: str = "responder") -> str:
    event = joined.events[side][-1]
    assert isinstance(event, Closed)
    assert event.error is not None
    return event.error.code


def hostile(data: bytes) -> str:
    """The code with which a responder answers bytes from an established peer."""
    joined = small()
    joined.responder.receive_data(data, NOW)
    joined.carry()
    [event] = [each for each in joined.events["responder"] if isinstance(each, Closed)]
    assert isinstance(event.error, PeerLinkError)
    return event.error.code


def start(sequence: int, body: int, *, checksum: int | None = None, header: bytes = b"") -> bytes:
    return encode_message_start(MessageStart(sequence, body, 0, checksum, header))


messages = st.builds(
    Message,
    header=st.binary(max_size=32),
    body=st.binary(max_size=300),
    kind=st.integers(0, 255),
)


@given(st.lists(messages, max_size=12), st.integers(1, 100))
def test_messages_arrive_as_they_were_sent(sent: list[Message], bytes_max: int) -> None:
    joined = small()
    waiting = list(sent)
    while waiting or joined.session.sent > joined.session.acknowledged:
        while waiting and joined.session.has_room(waiting[0]):
            joined.session.enqueue(waiting.pop(0))
        joined.carry(bytes_max=bytes_max)
        if received(joined):
            last = received(joined)[-1]
            joined.responder_session.acknowledge(last.session_id, last.sequence)
            joined.carry()
    assert [event.message for event in received(joined)] == sent
    assert [event.sequence for event in received(joined)] == list(range(1, len(sent) + 1))
    count = joined.session.count()
    assert (count.unacknowledged_messages, count.unacknowledged_bytes) == (0, 0)


def test_bodies_are_neither_copied_nor_encoded_when_they_are_sent() -> None:
    joined = Joined()
    joined.carry()
    body = bytes(range(256)) * 1_000
    joined.session.enqueue(Message(header=b"head", body=body))
    parts = joined.initiator.data_to_send(NOW, 1 << 20)
    chunks = [each for each in parts if isinstance(each, memoryview)]
    assert [len(each) for each in chunks] == [65_536, 65_536, 65_536, 59_392]
    assert all(each.obj is body for each in chunks)


def test_a_body_of_one_chunk_is_copied_once_when_it_is_received() -> None:
    joined = Joined()
    joined.carry()
    body = b"x" * 60_000
    joined.session.enqueue(Message(body=body))
    data = b"".join(joined.initiator.data_to_send(NOW, 1 << 20))
    tracemalloc.start()
    try:
        joined.responder.receive_data(data, NOW)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 3.5 * len(body), "the decoder's buffer, which may grow by an eighth, and the body"


def test_the_application_acknowledges_and_the_sender_forgets() -> None:
    joined = small()
    for number in range(3):
        joined.session.enqueue(Message(body=b"%d" % number))
    joined.carry()
    assert joined.session.acknowledged == 0, "receiving is not storing"
    joined.responder_session.acknowledge(joined.session.id, 2)
    joined.carry()
    acknowledged = [e for e in joined.events["initiator"] if isinstance(e, Acknowledged)]
    assert [event.sequence for event in acknowledged] == [2]
    assert joined.session.count().unacknowledged_messages == 1
    # Less than before is no news.
    joined.responder_session.acknowledge(joined.session.id, 1)
    joined.carry()
    assert joined.session.acknowledged == 2


def test_only_what_was_received_can_be_acknowledged() -> None:
    joined = small()
    with pytest.raises(LocalLinkError) as caught:
        joined.responder_session.acknowledge(joined.session.id, 1)
    assert caught.value.code == "link.acknowledge"
    joined.responder_session.acknowledge(b"another session.", 1)


def test_the_send_buffer_is_bounded_in_messages_and_bytes() -> None:
    joined = small()
    for _ in range(SMALL.window_messages):
        joined.session.enqueue(Message(body=b"x"))
    with pytest.raises(LocalLinkError) as caught:
        joined.session.enqueue(Message(body=b"x"))
    assert caught.value.code == "link.window-full"
    joined = small()
    joined.session.enqueue(Message(body=b"x" * 300))
    assert not joined.session.has_room(Message(body=b"x" * 201))
    assert joined.session.has_room(Message(body=b"x" * 200))


@pytest.mark.parametrize("message", [Message(header=b"x" * 33), Message(body=b"x" * 401)])
def test_messages_past_the_limits_are_refused_by_their_sender(message: Message) -> None:
    with pytest.raises(LocalLinkError) as caught:
        small().session.enqueue(message)
    assert caught.value.code == "link.message"


def test_a_peer_with_a_smaller_window_gets_no_more_than_it_allows() -> None:
    narrow = LinkLimits(window_messages=2, window_bytes=100)
    joined = Joined(responder_options=LinkOptions(name="responder", limits=narrow))
    joined.carry()
    for _ in range(5):
        joined.session.enqueue(Message(body=b"x" * 60))
    joined.carry()
    # One fits by its bytes; a message that is alone may be longer than the window.
    assert len(received(joined)) == 1
    joined.responder_session.acknowledge(joined.session.id, 1)
    joined.session.enqueue(Message(body=b"x" * 150))
    for number in range(2, 7):
        joined.carry()
        assert len(received(joined)) == number
        joined.responder_session.acknowledge(joined.session.id, number)


@pytest.mark.parametrize("limit", ["message_bytes", "header_bytes"])
def test_a_message_that_the_peer_would_refuse_ends_the_connection_with_a_reason(
    limit: str,
) -> None:
    limits = LinkLimits(header_bytes=5) if limit == "header_bytes" else None
    limits = limits or LinkLimits(message_bytes=10, header_bytes=5)
    joined = Joined(responder_options=LinkOptions(name="responder", limits=limits))
    joined.session.enqueue(Message(header=b"x" * 6, body=b"y" * 5))
    joined.carry()
    assert error_of(joined, "initiator") == "link.peer-limits"
    assert joined.session.sent == 1, "nothing is dropped"


# Heartbeats and time-outs


def test_heartbeats_keep_an_idle_connection_and_measure_its_round_trip() -> None:
    joined = Joined()
    joined.carry()
    joined.pass_time(60)
    assert joined.initiator.state is joined.responder.state is State.ESTABLISHED
    assert joined.initiator.round_trip_seconds == 0
    assert joined.initiator.counters.frames_received >= 2 * 60 / 5


def test_heartbeats_are_as_frequent_as_the_peer_asks() -> None:
    joined = Joined(responder_options=LinkOptions(name="responder", heartbeat_timeout_seconds=1.5))
    joined.carry()
    before = joined.responder.counters.frames_received
    joined.pass_time(10, step=0.1)
    assert joined.responder.state is State.ESTABLISHED
    assert joined.responder.counters.frames_received - before >= 15


def test_a_silent_peer_is_dead_after_the_time_out() -> None:
    joined = Joined()
    joined.carry()
    deadline = NOW
    while joined.responder.deadline is not None:
        deadline = joined.responder.deadline
        joined.responder.tick(deadline)
        joined.responder.data_to_send(deadline, 1)
    assert deadline == NOW + 15
    joined.events["responder"] += joined.responder.events()
    assert error_of(joined) == "link.heartbeat-timeout"


def test_bytes_that_complete_no_frame_do_not_keep_a_connection() -> None:
    joined = Joined()
    joined.carry()
    joined.responder.receive_data(PREFIX.pack(5_000, FrameType.CLOSE), NOW)
    for second in range(1, 20):
        joined.responder.receive_data(b"x", NOW + second)
        joined.responder.tick(NOW + second)
    joined.events["responder"] += joined.responder.events()
    assert error_of(joined) == "link.heartbeat-timeout"


@pytest.mark.parametrize("answers", [0, 1, 2])
def test_an_endless_handshake_is_ended(answers: int) -> None:
    """However slowly and far it goes: the time is for all of it."""
    joined = Joined()
    data = b"".join(joined.initiator.data_to_send(NOW, 1))
    for _ in range(answers):
        joined.responder.receive_data(data, NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
        data = b"".join(joined.initiator.data_to_send(NOW, 1))
    for second in range(6):
        joined.responder.receive_data(data[second : second + 1], NOW + second)
        joined.responder.tick(NOW + second)
    assert joined.responder.deadline == NOW + 10
    joined.responder.tick(NOW + 10)
    joined.events["responder"] += joined.responder.events()
    assert error_of(joined) == "link.handshake-timeout"


def test_heartbeats_and_acknowledgements_go_between_the_chunks_of_a_message() -> None:
    joined = Joined()
    joined.carry()
    joined.session.enqueue(Message(body=b"x" * 10_000_000))
    data = b"".join(joined.initiator.data_to_send(NOW, 100_000))
    joined.initiator.tick(NOW + 5)
    joined.initiator.receive_data(encode_control(Heartbeat(number=7, sequence=0)), NOW + 5)
    data += b"".join(joined.initiator.data_to_send(NOW + 5, 100_000))
    types = [frame.type for frame in frames_in(PREAMBLE + data, joined.initiator_options)]
    assert types[0] is FrameType.MESSAGE
    between = types.index(FrameType.ACKNOWLEDGE)
    urgent = [FrameType.ACKNOWLEDGE, FrameType.HEARTBEAT_REPLY, FrameType.HEARTBEAT]
    assert types[between : between + 3] == urgent
    assert types[between - 1] is types[-1] is FrameType.BODY
    assert len(data) < 400_000


def test_a_flood_of_heartbeats_is_answered_once() -> None:
    joined = Joined()
    joined.carry()
    flood = b"".join(encode_control(Heartbeat(number=n, sequence=0)) for n in range(10_000))
    joined.responder.receive_data(flood, NOW)
    assert len(b"".join(joined.responder.data_to_send(NOW, 1 << 20))) < 20


@pytest.mark.parametrize("policy", ["block", "disconnect"])
def test_a_slow_consumer_is_waited_for_or_disconnected_with_a_reason(policy: str) -> None:
    joined = small(slow_consumer=policy, slow_consumer_seconds=8.0)
    for _ in range(SMALL.window_messages):
        joined.session.enqueue(Message(body=b"x"))
    joined.carry()
    joined.pass_time(20)
    assert joined.initiator.state is State.ESTABLISHED, "nobody waits for room yet"
    assert joined.session.try_enqueue(Message(body=b"y")) is None
    joined.pass_time(7)
    assert joined.initiator.state is State.ESTABLISHED
    joined.pass_time(3)
    if policy == "block":
        assert joined.initiator.state is State.ESTABLISHED
    else:
        assert error_of(joined, "initiator") == "link.slow-consumer"
        event = joined.events["responder"][-1]
        assert isinstance(event, Closed)
        assert event.peer_code == "link.slow-consumer"
    assert joined.session.count().unacknowledged_messages == SMALL.window_messages


def test_a_consumer_that_acknowledges_in_time_is_not_slow() -> None:
    joined = small(slow_consumer="disconnect", slow_consumer_seconds=8.0)
    for number in range(1, 10):
        while joined.session.try_enqueue(Message(body=b"x")) is not None:
            joined.carry()
        joined.pass_time(7)
        joined.responder_session.acknowledge(joined.session.id, number)
        joined.carry()
    assert joined.initiator.state is State.ESTABLISHED


def test_a_window_that_only_the_peer_has_makes_a_slow_consumer_too() -> None:
    narrow = LinkLimits(window_messages=2)
    joined = Joined(
        initiator_options=LinkOptions(
            name="initiator", slow_consumer="disconnect", slow_consumer_seconds=4.0
        ),
        responder_options=LinkOptions(name="responder", limits=narrow),
    )
    for _ in range(3):
        joined.session.enqueue(Message(body=b"x"))
    joined.carry()
    joined.pass_time(5)
    assert error_of(joined, "initiator") == "link.slow-consumer"


def test_a_peer_that_does_not_answer_a_close_is_left() -> None:
    joined = Joined()
    joined.carry()
    joined.initiator.close(NOW)
    assert joined.initiator.deadline == NOW + 5
    joined.initiator.tick(NOW + 4)
    assert joined.initiator.state is State.CLOSING
    joined.initiator.tick(NOW + 5)
    assert joined.initiator.events() == [Closed(error=None)]


def test_a_graceful_close_is_no_error_on_either_side() -> None:
    joined = Joined()
    joined.carry()
    joined.initiator.close(NOW)
    joined.carry()
    joined.initiator.connection_lost()
    for side in joined.events:
        assert joined.events[side][-1] == Closed(error=None)


# Hostile peers


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (start(2, 0), "link.sequence"),
        (encode_control(Heartbeat(number=1, sequence=1)), "link.sequence"),
        (start(1, 401), "link.message-bytes"),
        (start(1, (1 << 64) - 1), "link.message-bytes"),
        (start(1, 0, header=b"x" * 33), "link.header-bytes"),
        (b"".join(start(n, 0) for n in range(1, 7)), "link.window"),
        (start(1, 2) + body_prefix(3) + b"abc", "link.frame-payload"),
        (start(1, 2) + body_prefix(0), "link.frame-payload"),
        (start(1, 2) + start(2, 0), "link.unexpected-frame"),
        (start(1, 1, checksum=7) + body_prefix(1) + b"a", "link.checksum"),
        (start(1, 0, checksum=Message(kind=1).checksum()), "link.checksum"),
        (encode_control(Acknowledge(sequence=1)), "link.acknowledgement"),
        (PREFIX.pack(65, FrameType.BODY), "link.frame-bytes"),
    ],
)
def test_violations_are_refused_by_a_code(data: bytes, code: str) -> None:
    assert hostile(data) == code


def test_the_window_in_bytes_is_enforced_too() -> None:
    messages_ = b"".join(start(n, 0, header=b"x" * 32) for n in range(1, 5))
    long = start(5, 400 - 32, header=b"x" * 32)
    assert hostile(messages_ + long) == "link.window"


def test_a_message_that_was_received_is_not_handed_over_again() -> None:
    joined = small()
    joined.responder.receive_data(start(1, 1) + body_prefix(1) + b"a", NOW)
    joined.responder.receive_data(start(1, 1) + body_prefix(1) + b"b", NOW)
    joined.responder.receive_data(start(2, 0), NOW)
    joined.carry()
    assert [event.message.body for event in received(joined)] == [b"a", b""]
    assert joined.responder_session.counters.duplicates == 1


def test_memory_grows_with_what_has_arrived_and_not_with_what_was_announced() -> None:
    joined = Joined()
    joined.carry()
    tracemalloc.start()
    try:
        joined.responder.receive_data(start(1, 60_000_000), NOW)
        for _ in range(2_000):
            joined.responder.receive_data((body_prefix(1) + b"x") * 50, NOW)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000, "for 100,000 bytes of body"
    finally:
        tracemalloc.stop()


def test_a_peer_that_acknowledges_what_it_denied_to_have_received_is_believed() -> None:
    """It says 0 in the handshake and then acknowledges all: nothing is sent again, or twice."""
    joined = small()
    for _ in range(3):
        joined.session.enqueue(Message(body=b"x" * 20))
    joined.carry()
    joined.cut()
    joined.responder_session.received = 0
    joined.connect()
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    assert joined.initiator.state is State.ESTABLISHED
    joined.initiator.data_to_send(NOW, 1)
    joined.initiator.receive_data(encode_control(Acknowledge(sequence=3)), NOW)
    assert joined.session.acknowledged == 3
    joined.initiator.data_to_send(NOW, 1 << 20)
    assert joined.initiator.state is State.ESTABLISHED
    assert joined.session.has_room(Message(body=b"x" * 400))


@given(st.binary(max_size=200))
def test_arbitrary_bytes_never_raise(data: bytes) -> None:
    for prefix in (b"", PREAMBLE):
        joined = Joined()
        joined.responder.receive_data(prefix + data, NOW)
        joined.initiator.receive_data(prefix + data, NOW)
    joined = small()
    joined.responder.receive_data(data, NOW)
    joined.responder.data_to_send(NOW, 100)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Established(
            peer="a", authenticated=True, session_id=b"", resumed=False, capabilities=frozenset()
        ),
        lambda: SessionReset(session_id=b"x", unacknowledged=()),
        lambda: MessageReceived(session_id=b"s" * 16, sequence=0, message=Message()),
        lambda: Acknowledged(session_id=b"s" * 16, sequence=0),
        lambda: Closed(error=None, peer_code="link.window"),
        lambda: Message(kind=256),
    ],
)
def test_events_and_messages_are_validated(make: object) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=r"\w"):
        make()


def test_messages_are_immutable_bytes() -> None:
    with pytest.raises(TypeError):
        Message(body=bytearray(b"x"))  # type: ignore[arg-type]
