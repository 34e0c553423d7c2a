"""The transition table: every pair of state and input, and the figure made from it."""

from __future__ import annotations

import pytest
from link_states import state_diagram
from markdown_pages import code_blocks

from penstock.errors import LocalLinkError, PeerLinkError
from penstock.links import Closed, Connection, Message
from penstock.links.frames import (
    PREAMBLE,
    Acknowledge,
    Challenge,
    Close,
    ControlFrame,
    Heartbeat,
    HeartbeatReply,
    Hello,
    MessageStart,
    Proof,
    Welcome,
    body_prefix,
    decode_control,
    encode_control,
    encode_message_start,
)
from penstock.links.transitions import FRAME_INPUTS, TRANSITIONS, Input, State
from support.fixtures.repository import DOCS
from support.links.joined_cores import NOW, Joined, frames_in

INTRODUCTION = {
    "version": 1,
    "nonce": b"n" * 32,
    "capabilities": (),
    "heartbeat_timeout_ms": 15_000,
    "frame_bytes": 1_000,
    "header_bytes": 1_000,
    "message_bytes": 1_000,
    "window_messages": 10,
    "window_bytes": 1_000,
}


def in_state(state: State) -> tuple[Connection, Joined]:
    """A connection that has come into a state by legal means."""
    joined = Joined()
    initiator, responder = joined.initiator, joined.responder
    match state:
        case State.AWAIT_HELLO:
            return responder, joined
        case State.AWAIT_CHALLENGE:
            return initiator, joined
        case State.AWAIT_PROOF:
            responder.receive_data(b"".join(initiator.data_to_send(NOW, 1)), NOW)
            return responder, joined
        case State.AWAIT_WELCOME | State.AWAIT_CONFIRMATION:
            responder.receive_data(b"".join(initiator.data_to_send(NOW, 1)), NOW)
            initiator.receive_data(b"".join(responder.data_to_send(NOW, 1)), NOW)
            if state is State.AWAIT_WELCOME:
                return initiator, joined
            responder.receive_data(b"".join(initiator.data_to_send(NOW, 1)), NOW)
            return responder, joined
    joined.carry()
    if state is State.RECEIVING_BODY:
        responder.receive_data(message_start(2) + body(b"x"), NOW)
    elif state is State.CLOSING:
        responder.close(NOW)
    elif state is State.CLOSED:
        responder.connection_lost()
    return responder, joined


def message_start(body_bytes: int) -> bytes:
    return encode_message_start(MessageStart(1, body_bytes, 0, None, b"h"))


def body(chunk: bytes) -> bytes:
    return body_prefix(len(chunk)) + chunk


def frame_for(input_: Input, connection: Connection, joined: Joined) -> bytes:
    """A frame that is correct apart from when it is sent, with valid proofs where it needs one."""
    match input_:
        case Input.MESSAGE:
            return message_start(2)
        case Input.MESSAGE_WITHOUT_BODY:
            return message_start(0)
        case Input.BODY | Input.LAST_BODY:
            return body(b"y")
        case Input.PROOF if connection.state is State.AWAIT_PROOF:
            initiator = joined.initiator
            initiator.receive_data(b"".join(connection.data_to_send(NOW, 1)), NOW)
            return b"".join(initiator.data_to_send(NOW, 1))
        case Input.WELCOME if connection.state is State.AWAIT_WELCOME:
            joined.responder.receive_data(b"".join(connection.data_to_send(NOW, 1)), NOW)
            return b"".join(joined.responder.data_to_send(NOW, 1))
    frames: dict[Input, ControlFrame] = {
        Input.HELLO: Hello(name="initiator", **INTRODUCTION),  # type: ignore[arg-type]
        Input.CHALLENGE: Challenge(name="responder", **INTRODUCTION),  # type: ignore[arg-type]
        Input.PROOF: Proof(mac=b"m" * 32, session_id=b"", received=0),
        Input.WELCOME: Welcome(mac=b"m" * 32, session_id=b"s" * 16, received=0),
        Input.ACKNOWLEDGE: Acknowledge(sequence=0),
        Input.HEARTBEAT: Heartbeat(number=1, sequence=0),
        Input.HEARTBEAT_REPLY: HeartbeatReply(number=1),
        Input.CLOSE: Close(code="", message=""),
    }
    return encode_control(frames[input_])


def preamble_if_needed(connection: Connection) -> bytes:
    return PREAMBLE if connection.counters.bytes_received == 0 else b""


def apply(input_: Input, connection: Connection, joined: Joined) -> None:
    match input_:
        case Input.CLOSE_REQUEST:
            connection.close(NOW)
        case Input.TIME_OUT:
            connection.tick(NOW + 1_000)
        case Input.VIOLATION:
            connection.receive_data(preamble_if_needed(connection) + b"\0\0\0\0\xff", NOW)
        case Input.SUPERSEDED:
            connection._superseded()
        case Input.CONNECTION_LOST:
            connection.connection_lost()
        case Input.BODY if connection.state is State.RECEIVING_BODY:
            # One byte is missing there, which would make this the last part.
            assert connection._assembly is not None
            connection._assembly.missing = 2
            connection.receive_data(body(b"y"), NOW)
        case _:
            frame = frame_for(input_, connection, joined)
            connection.receive_data(preamble_if_needed(connection) + frame, NOW)


@pytest.mark.parametrize("input_", Input, ids=lambda each: each.name)
@pytest.mark.parametrize("state", State, ids=lambda each: each.name)
def test_every_pair_of_state_and_input_does_what_the_table_says(
    state: State, input_: Input
) -> None:
    connection, joined = in_state(state)
    assert connection.state is state
    connection.events()
    apply(input_, connection, joined)
    expected = TRANSITIONS[state].get(input_)
    closed = [event for event in connection.events() if isinstance(event, Closed)]
    if expected is None:
        assert connection.state is State.CLOSED
        assert [event.error and event.error.code for event in closed] == ["link.unexpected-frame"]
        assert isinstance(closed[0].error, PeerLinkError)
    else:
        assert connection.state is expected
        assert len(closed) == (expected is State.CLOSED and state is not State.CLOSED)


@pytest.mark.parametrize("state", [each for each in State if each is not State.CLOSED])
def test_a_violation_is_reported_to_the_peer(state: State) -> None:
    connection, _ = in_state(state)
    connection.data_to_send(NOW, 1)
    apply(Input.VIOLATION, connection, Joined())
    data = b"".join(connection.data_to_send(NOW, 1))
    [frame] = frames_in(PREAMBLE + data, Joined().responder_options)
    told = decode_control(frame)
    assert isinstance(told, Close)
    assert told.code == "link.frame-type"


def test_the_peer_learns_that_it_was_its_own_fault() -> None:
    joined = Joined()
    joined.carry()
    joined.responder.receive_data(b"\0\0\0\0\xff", NOW)
    joined.carry()
    event = joined.events["initiator"][-1]
    assert isinstance(event, Closed)
    assert isinstance(event.error, LocalLinkError)
    assert event.error.code == "link.refused"
    assert event.peer_code == "link.frame-type"
    assert "frame of type 255" in str(event.error)


def test_every_state_can_be_reached_and_left() -> None:
    reached = {following for row in TRANSITIONS.values() for following in row.values()}
    assert reached | {State.AWAIT_HELLO, State.AWAIT_CHALLENGE} == set(State)
    assert set(TRANSITIONS) == set(State)
    always = {Input.VIOLATION, Input.TIME_OUT, Input.SUPERSEDED, Input.CONNECTION_LOST}
    assert all(row[each] is State.CLOSED for row in TRANSITIONS.values() for each in always)
    assert always | {Input.CLOSE_REQUEST} == set(Input) - FRAME_INPUTS
    page = (DOCS / "explanation" / "links.md").read_text(encoding="utf-8")
    assert f"**{', '.join(each.value for each in Input if each in always)}**" in page


def test_the_figure_in_the_documentation_is_that_of_the_table() -> None:
    page = DOCS / "explanation" / "links.md"
    figures = [block.text for block in code_blocks(page) if block.language == "mermaid"]
    assert state_diagram().strip() in [figure.strip() for figure in figures]


def test_after_closing_nothing_is_sent_but_the_reason() -> None:
    joined = Joined()
    joined.carry()
    joined.session.enqueue(Message(body=b"late"))
    joined.initiator.close(NOW)
    data = b"".join(joined.initiator.data_to_send(NOW, 1 << 20))
    assert b"late" not in data
    joined.responder.receive_data(data, NOW)
    assert joined.responder.state is State.CLOSED
    joined.connect()
    joined.carry()
    assert joined.session.transmitted == 1
