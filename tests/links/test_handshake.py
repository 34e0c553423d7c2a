"""The handshake: who is let in, what a recorded one is worth, and which session goes on."""

from __future__ import annotations

import hashlib

import msgspec
import pytest

from penstock.errors import LinkError, LocalLinkError, PeerLinkError
from penstock.links import (
    Closed,
    Connection,
    Established,
    LinkLimits,
    LinkOptions,
    Message,
    MessageReceived,
    SessionReset,
    SessionState,
)
from penstock.links.frames import (
    PREAMBLE,
    PREFIX,
    Acknowledge,
    Challenge,
    Close,
    FrameType,
    Hello,
    Proof,
    Welcome,
    decode_control,
    encode_control,
)
from penstock.links.transitions import State
from support.links.fake_link import TOKEN
from support.links.joined_cores import NOW, Joined, frames_in

OTHER_TOKEN = TOKEN[::-1]


def code(joined: Joined, side: str) -> str | None:
    """The error of a side's last Closed event."""
    closed = [event for event in joined.events[side] if isinstance(event, Closed)]
    assert closed
    return None if closed[-1].error is None else closed[-1].error.code


def established(joined: Joined, side: str) -> list[Established]:
    return [event for event in joined.events[side] if isinstance(event, Established)]


def test_both_sides_learn_names_capabilities_and_that_the_other_is_authentic() -> None:
    joined = Joined(
        initiator_options=LinkOptions(name="initiator", capabilities={"b", "a"}),
        responder_options=LinkOptions(name="responder", capabilities={"z"}),
    )
    assert not joined.initiator.authenticated
    joined.carry()
    [of_initiator], [of_responder] = (established(joined, each) for each in joined.events)
    assert (of_initiator.peer, of_initiator.capabilities) == ("responder", frozenset("z"))
    assert (of_responder.peer, of_responder.capabilities) == ("initiator", frozenset("ab"))
    assert of_initiator.session_id == of_responder.session_id
    assert joined.initiator.authenticated
    assert joined.responder.authenticated


def test_the_token_is_not_sent() -> None:
    joined = Joined()
    sent = b"".join(joined.initiator.data_to_send(NOW, 1))
    joined.responder.receive_data(sent, NOW)
    sent += b"".join(joined.responder.data_to_send(NOW, 1))
    assert TOKEN not in sent
    assert hashlib.sha256(TOKEN).digest() not in sent


@pytest.mark.parametrize(
    ("token", "tokens", "accepts", "at_initiator", "at_responder"),
    [
        (OTHER_TOKEN, {"initiator": TOKEN}, False, "link.refused", "link.authentication"),
        (None, {"initiator": TOKEN}, False, "link.refused", "link.authentication"),
        (None, {"initiator": TOKEN}, True, "link.refused", "link.authentication"),
        (TOKEN, {"another": TOKEN}, False, "link.refused", "link.authentication"),
        (None, {}, False, "link.refused", "link.authentication"),
        # The responder does not know the token, and accepts anybody: the initiator refuses it.
        (TOKEN, {}, True, "link.authentication", "link.refused"),
    ],
)
def test_whoever_does_not_know_the_token_is_refused(
    token: bytes | None,
    tokens: dict[str, bytes],
    accepts: bool,
    at_initiator: str,
    at_responder: str,
) -> None:
    joined = Joined(token=token, tokens=tokens, accept_unauthenticated=accepts)
    joined.carry()
    assert (code(joined, "initiator"), code(joined, "responder")) == (at_initiator, at_responder)
    assert not established(joined, "initiator")
    assert not established(joined, "responder")
    assert not joined.initiator.authenticated


def test_an_unknown_name_and_a_wrong_token_get_the_same_answer() -> None:
    answers = []
    for tokens in ({"initiator": OTHER_TOKEN}, {}):
        joined = Joined(tokens=tokens)
        joined.carry()
        [closed] = [each for each in joined.events["initiator"] if isinstance(each, Closed)]
        answers.append((closed.peer_code, str(closed.error)))
    assert answers[0] == answers[1]


def test_an_unauthenticated_peer_is_marked_as_such() -> None:
    joined = Joined(token=None, tokens={}, accept_unauthenticated=True)
    joined.carry()
    for side in joined.events:
        assert [event.authenticated for event in established(joined, side)] == [False]
    assert not joined.responder.authenticated


def test_recorded_handshakes_are_worthless() -> None:
    recorded = Joined()
    hello = b"".join(recorded.initiator.data_to_send(NOW, 1))
    recorded.responder.receive_data(hello, NOW)
    challenge = b"".join(recorded.responder.data_to_send(NOW, 1))
    recorded.initiator.receive_data(challenge, NOW)
    proof = b"".join(recorded.initiator.data_to_send(NOW, 1))
    recorded.responder.receive_data(proof, NOW)
    welcome = b"".join(recorded.responder.data_to_send(NOW, 1))
    # To the responder, which challenges with another nonce.
    victim = Joined(seed=2)
    victim.responder.receive_data(hello + proof, NOW)
    [closed] = victim.responder.events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.code == "link.authentication"
    # To the initiator, which said another nonce.
    victim = Joined(seed=3)
    victim.initiator.receive_data(challenge + welcome, NOW)
    [closed] = victim.initiator.events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.code == "link.authentication"


def test_a_proof_cannot_be_reflected() -> None:
    joined = Joined()
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    proof = decode_control(
        frames_in(
            PREAMBLE + b"".join(joined.initiator.data_to_send(NOW, 1)), joined.initiator_options
        )[0]
    )
    assert isinstance(proof, Proof)
    welcome = Welcome(mac=proof.mac, session_id=b"s" * 16, received=0)
    joined.initiator.receive_data(encode_control(welcome), NOW)
    joined.carry()
    assert code(joined, "initiator") == "link.authentication"


@pytest.mark.parametrize("what", ["capabilities", "window_bytes", "nonce"])
def test_what_an_intermediary_changes_in_the_handshake_is_noticed(what: str) -> None:
    joined = Joined()
    data = b"".join(joined.initiator.data_to_send(NOW, 1))
    hello = decode_control(frames_in(data, joined.initiator_options)[0])
    assert isinstance(hello, Hello)
    changes = {"capabilities": ("x",), "window_bytes": 1, "nonce": b"x" * 32}
    changed = msgspec.structs.replace(hello, **{what: changes[what]})
    joined.responder.receive_data(PREAMBLE + encode_control(changed), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.carry()
    assert code(joined, "responder") == "link.authentication"


def test_a_handshake_that_is_relayed_into_another_channel_fails() -> None:
    joined = Joined(bindings=(b"certificate of a relay", b"certificate of the server"))
    joined.carry()
    assert code(joined, "responder") == "link.authentication"


def test_the_initiator_refuses_another_name_than_it_wants() -> None:
    joined = Joined(responder_options=LinkOptions(name="somebody"))
    joined.carry()
    assert code(joined, "initiator") == "link.peer-name"


def test_a_router_refuses_itself() -> None:
    joined = Joined(initiator_options=LinkOptions(name="responder"))
    joined.carry()
    assert code(joined, "responder") == "link.peer-name"


@pytest.mark.parametrize("payload", [[2, "another", "shape"], None])
def test_another_version_is_named_whatever_the_rest_of_its_introduction(
    payload: list[object] | None,
) -> None:
    joined = Joined()
    if payload is None:
        data = b"".join(joined.initiator.data_to_send(NOW, 1))
        hello = decode_control(frames_in(data, joined.initiator_options)[0])
        assert isinstance(hello, Hello)
        frame = encode_control(msgspec.structs.replace(hello, version=2))
    else:
        encoded = msgspec.msgpack.encode(payload)
        frame = PREFIX.pack(len(encoded), FrameType.HELLO) + encoded
    joined.responder.receive_data(PREAMBLE + frame, NOW)
    joined.carry()
    assert code(joined, "responder") == "link.version"


def test_a_peer_cannot_ask_for_a_frame_for_each_byte() -> None:
    joined = Joined()
    data = b"".join(joined.initiator.data_to_send(NOW, 1))
    hello = decode_control(frames_in(data, joined.initiator_options)[0])
    assert isinstance(hello, Hello)
    frame = encode_control(msgspec.structs.replace(hello, frame_bytes=1))
    joined.responder.receive_data(PREAMBLE + frame, NOW)
    joined.carry()
    assert code(joined, "responder") == "link.frame-payload"


def test_the_reason_of_a_peer_is_quoted() -> None:
    """It may end up in logs and terminals."""
    joined = Joined()
    joined.carry()
    close = Close(code="link.lost", message="\x1b[2J\nforged line")
    joined.initiator.receive_data(encode_control(close), NOW)
    [closed] = joined.initiator.events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.message.isprintable()


def test_the_initiator_checks_the_version_too() -> None:
    joined = Joined()
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    data = b"".join(joined.responder.data_to_send(NOW, 1))
    challenge = decode_control(frames_in(data, joined.responder_options)[0])
    assert isinstance(challenge, Challenge)
    changed = encode_control(msgspec.structs.replace(challenge, version=0))
    joined.initiator.receive_data(PREAMBLE + changed, NOW)
    joined.carry()
    assert code(joined, "initiator") == "link.version"


@pytest.mark.parametrize(
    "make",
    [
        lambda: LinkOptions(name=""),
        lambda: LinkOptions(name="a b"),
        lambda: LinkOptions(name="a\n"),
        lambda: LinkOptions(name="a" * 256),
        lambda: LinkOptions(name="a", capabilities={"é"}),
        lambda: LinkOptions(name="a", capabilities={str(n) for n in range(33)}),
        lambda: LinkOptions(name="a", heartbeat_seconds=0),
        lambda: LinkOptions(name="a", handshake_seconds=float("nan")),
        lambda: LinkOptions(name="a", heartbeat_timeout_seconds=0.1),
        lambda: LinkOptions(name="a", slow_consumer="drop"),  # type: ignore[arg-type]
        lambda: LinkLimits(chunk_bytes=0),
        lambda: LinkLimits(frame_bytes=63),
        lambda: LinkLimits(header_bytes=2, message_bytes=1),
        lambda: SessionState(session_id=b"short"),
        lambda: SessionState(session_id=b"", stored=1),
        lambda: SessionState(session_id=b"s" * 16, stored=-1),
        lambda: Joined(token=b"short"),
        lambda: Joined(tokens={"initiator": b"short"}),
    ],
)
def test_invalid_options_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(LocalLinkError) as caught:
        make()
    assert caught.value.code == "link.option"


# Sessions


def send(joined: Joined, *bodies: bytes) -> None:
    for body in bodies:
        joined.session.enqueue(Message(body=body))
    joined.carry()


def received(joined: Joined) -> list[bytes]:
    return [
        event.message.body
        for event in joined.events["responder"]
        if isinstance(event, MessageReceived)
    ]


def test_a_session_is_resumed_and_only_what_is_missing_is_sent_again() -> None:
    joined = Joined()
    send(joined, b"1", b"2")
    joined.session.enqueue(Message(body=b"3"))
    joined.initiator.data_to_send(NOW, 1_000)  # lost with the connection
    joined.cut()
    joined.connect()
    joined.carry()
    assert received(joined) == [b"1", b"2", b"3"]
    assert joined.session.counters.retransmissions == 1
    assert [event.resumed for event in established(joined, "responder")] == [False, True]
    assert not any(isinstance(event, SessionReset) for event in joined.events["initiator"])


def test_messages_before_the_first_session_belong_to_it() -> None:
    joined = Joined()
    joined.session.enqueue(Message(body=b"early"))
    joined.carry()
    assert received(joined) == [b"early"]


def test_a_session_that_was_never_confirmed_keeps_its_messages_without_a_reset() -> None:
    """The connection ends between Welcome and its confirmation, and the initiator forgets."""
    joined = Joined()
    joined.carry()
    joined.cut()
    joined.responder_session.restart(b"")
    joined.responder_session.enqueue(Message(body=b"waits"))
    for _ in range(2):
        joined.connect()
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        assert joined.responder.state is State.AWAIT_CONFIRMATION
        joined.cut()
    joined.connect()
    joined.carry()
    assert not any(isinstance(event, SessionReset) for event in joined.events["responder"])
    assert joined.responder_session.sent == 1
    assert joined.events["initiator"][-1].message.body == b"waits"  # type: ignore[union-attr]


@pytest.mark.parametrize("forgetful", ["initiator", "responder"])
def test_lost_state_ends_the_session_and_returns_what_was_not_acknowledged(
    forgetful: str,
) -> None:
    joined = Joined()
    send(joined, b"1", b"2")
    joined.responder_session.acknowledge(joined.session.id, 1)
    joined.carry()
    joined.cut()
    ended = joined.session.id
    fresh = Joined(seed=9)
    if forgetful == "initiator":
        joined.session = fresh.session
    else:
        joined.peers = fresh.peers
    joined.connect()
    joined.carry()
    remembers = "responder" if forgetful == "initiator" else "initiator"
    resets = [each for each in joined.events[remembers] if isinstance(each, SessionReset)]
    assert [each.session_id for each in resets] == [ended]
    expected = [] if remembers == "responder" else [Message(body=b"2")]
    assert list(resets[0].unacknowledged) == expected
    assert not any(isinstance(each, SessionReset) for each in joined.events[forgetful])
    assert established(joined, remembers)[-1].resumed is False
    assert established(joined, forgetful)[-1].session_id != ended
    send(joined, b"3")
    assert received(joined)[-1] == b"3"


@pytest.mark.parametrize("stored", [0, 5])
def test_a_receiver_whose_state_does_not_fit_gets_a_new_session(stored: int) -> None:
    """A backup that is older than its acknowledgements, or that counts what was never sent."""
    joined = Joined()
    send(joined, b"1", b"2")
    joined.responder_session.acknowledge(joined.session.id, 2)
    joined.carry()
    joined.cut()
    joined.responder_session.stored = joined.responder_session.received = stored
    joined.connect()
    joined.carry()
    # Only the initiator can see it; it forgets the session, and the next connection has a new one.
    assert code(joined, "initiator") == "link.resume"
    joined.connect()
    joined.carry()
    for side in joined.events:
        assert sum(isinstance(each, SessionReset) for each in joined.events[side]) == 1
    send(joined, b"3")
    assert received(joined)[-1] == b"3"


def test_a_new_session_cannot_have_received_anything() -> None:
    joined = Joined(token=None, tokens={}, accept_unauthenticated=True)
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    welcome = Welcome(mac=b"", session_id=b"s" * 16, received=3)
    joined.initiator.receive_data(encode_control(welcome), NOW)
    joined.carry()
    assert code(joined, "initiator") == "link.resume"


def test_a_stored_session_is_resumed_after_a_restart() -> None:
    joined = Joined()
    send(joined, b"1", b"2", b"3")
    joined.responder_session.acknowledge(joined.session.id, 1)
    joined.carry()
    stored = joined.session.state()
    assert stored.acknowledged == 1
    peers = joined.peers
    joined = Joined(state=stored, seed=5)
    joined.peers = peers
    joined.connect()
    send(joined, b"4")
    assert received(joined) == [b"4"]
    assert established(joined, "initiator")[0].resumed


def test_a_new_connection_supersedes_a_half_open_one() -> None:
    joined = Joined()
    send(joined, b"1")
    former = joined.responder
    joined.initiator.connection_lost()
    joined.connect()
    send(joined, b"2")
    assert received(joined) == [b"1", b"2"]
    [closed] = former.events()
    assert isinstance(closed, Closed)
    assert isinstance(closed.error, PeerLinkError)
    assert closed.error.code == "link.superseded"
    # Whatever still arrives there is ignored, and so is its end.
    former.receive_data(b"x" * 100, NOW)
    former.connection_lost()
    assert not former.events()
    send(joined, b"3")
    assert received(joined)[-1] == b"3"


def delayed_proof(joined: Joined) -> tuple[Connection, bytes]:
    """A connection that the initiator gives up while its Proof is under way."""
    joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
    joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    proof = b"".join(joined.initiator.data_to_send(NOW, 1))
    joined.initiator.connection_lost()
    joined.events["initiator"] += joined.initiator.events()
    return joined.responder, proof


@pytest.mark.parametrize("session_exists", [False, True])
def test_a_delayed_proof_of_an_abandoned_connection_does_not_end_the_session(
    session_exists: bool,
) -> None:
    joined = Joined()
    if session_exists:
        send(joined, b"0")
        joined.cut()
        joined.connect()
    late, proof = delayed_proof(joined)
    joined.connect()
    send(joined, b"1")
    joined.responder_session.enqueue(Message(body=b"back"))
    joined.carry()
    joined.session.acknowledge(joined.session.id, 1)
    joined.carry()
    current = joined.responder
    late.receive_data(proof, NOW)
    assert late.state is State.AWAIT_CONFIRMATION
    assert current.state is State.ESTABLISHED
    late.connection_lost()
    joined.cut()
    joined.connect()
    send(joined, b"2")
    assert received(joined)[-2:] == [b"1", b"2"]
    for side in joined.events:
        assert not any(isinstance(event, SessionReset) for event in joined.events[side])


def test_a_delayed_confirmation_of_an_abandoned_connection_changes_nothing() -> None:
    """Welcome was the last that arrived in time; another session has begun since."""
    joined = Joined()
    late, proof = delayed_proof(joined)
    # As if the initiator's process had been killed after it sent the confirmation.
    late.receive_data(proof, NOW)
    confirmation = encode_control(Acknowledge(sequence=0))
    joined.connect()
    send(joined, b"1")
    late.receive_data(confirmation, NOW)
    assert late.closed
    [closed] = late.events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.code == "link.superseded"
    assert late.session is None
    send(joined, b"2")
    assert received(joined) == [b"1", b"2"]


def test_a_delayed_proof_between_welcome_and_confirmation_does_not_void_the_offer() -> None:
    joined = Joined()
    late, proof = delayed_proof(joined)
    joined.connect()
    for _ in range(2):
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    assert joined.responder.state is State.AWAIT_CONFIRMATION
    late.receive_data(proof, NOW)
    send(joined, b"1")
    assert received(joined) == [b"1"]


def test_a_delayed_confirmation_does_not_supersede_a_later_connection() -> None:
    joined = Joined()
    send(joined, b"1")
    joined.cut()
    joined.connect()
    for _ in range(2):
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    former, confirmation = joined.responder, b"".join(joined.initiator.data_to_send(NOW, 1))
    joined.initiator.connection_lost()
    joined.connect()
    joined.carry()
    former.receive_data(confirmation, NOW)
    [closed] = former.events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.code == "link.superseded"
    assert joined.responder.state is State.ESTABLISHED


def test_the_offers_of_new_sessions_are_bounded() -> None:
    joined = Joined()
    joined.carry()
    joined.cut()
    session = joined.responder_session
    joined.session.restart(b"")
    made = []
    for _ in range(20):
        joined.connect()
        late, proof = delayed_proof(joined)
        late.receive_data(proof, NOW)
        made.append(late)
    assert len(session.offered) == 8
    made[0].receive_data(encode_control(Acknowledge(sequence=0)), NOW)
    [closed] = made[0].events()
    assert isinstance(closed, Closed)
    assert closed.error is not None
    assert closed.error.code == "link.resume"
    joined.connect()
    send(joined, b"1")
    assert received(joined)[-1] == b"1"
    assert not session.offered


@pytest.mark.parametrize("confirmed_late", [False, True])
def test_a_session_that_was_offered_and_not_confirmed_in_time_is_resumed(
    confirmed_late: bool,
) -> None:
    joined = Joined()
    joined.session.enqueue(Message(body=b"1"))
    for _ in range(2):
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    former, under_way = joined.responder, b"".join(joined.initiator.data_to_send(NOW, 1_000))
    joined.initiator.connection_lost()
    joined.events["initiator"] += joined.initiator.events()
    joined.connect()
    for _ in range(2):
        joined.responder.receive_data(b"".join(joined.initiator.data_to_send(NOW, 1)), NOW)
        joined.initiator.receive_data(b"".join(joined.responder.data_to_send(NOW, 1)), NOW)
    if confirmed_late:
        # Between Welcome and the confirmation of the second connection.
        former.receive_data(under_way, NOW)
        joined.events["responder"] += former.events()
    joined.carry()
    assert received(joined) == [b"1"]
    assert [event.resumed for event in established(joined, "responder")] == (
        [False, True] if confirmed_late else [False]
    )
    for side in joined.events:
        assert not any(isinstance(event, SessionReset) for event in joined.events[side])


def responder_for(joined: Joined, name: str, token: bytes | None) -> Joined:
    """Another initiator that connects to the same server."""
    other = Joined(initiator_options=LinkOptions(name=name), token=token, seed=7)
    other.peers = joined.peers
    other.connect()
    other.carry()
    return other


def test_an_unauthenticated_peer_cannot_take_over_a_session_by_its_name() -> None:
    joined = Joined(token=None, tokens={"known": TOKEN}, accept_unauthenticated=True)
    joined.carry()
    assert code(responder_for(joined, "initiator", None), "responder") == "link.peer-name"
    assert code(responder_for(joined, "known", None), "responder") == "link.authentication"
    assert joined.responder.state is State.ESTABLISHED
    # Once it is gone, the name is free.
    joined.cut()
    assert established(responder_for(joined, "initiator", None), "responder")


def test_at_the_limit_of_sessions_idle_unauthenticated_ones_make_room() -> None:
    joined = Joined(
        token=None,
        tokens={"known": TOKEN},
        accept_unauthenticated=True,
        responder_options=LinkOptions(name="responder", limits=LinkLimits(sessions=2)),
    )
    joined.carry()
    second = responder_for(joined, "second", None)
    assert code(responder_for(joined, "third", None), "responder") == "link.sessions"
    second.cut()
    second.responder_session.enqueue(Message(body=b"must not be lost"))
    assert code(responder_for(joined, "third", None), "responder") == "link.sessions"
    # Nobody can keep out authenticated peers, whatever names he claims.
    assert established(responder_for(joined, "known", TOKEN), "responder")
    joined.cut()
    assert established(responder_for(joined, "third", None), "responder")
    assert {session.peer for session in joined.peers.sessions} == {"second", "third", "known"}
    assert [session.peer for session in joined.peers.sessions.authenticated()] == ["known"]


def test_errors_are_connection_errors() -> None:
    for cls in (LinkError, LocalLinkError, PeerLinkError):
        assert issubclass(cls, ConnectionError)
    assert Connection.initiator.__doc__
