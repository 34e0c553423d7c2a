"""Frames of links: hostile bytes end a connection with a code, in any state and any slices.

The first byte selects the side and how far the handshake has come, the second the size of slices.
A byte string is fed as it is, or, if the lowest bit of the first byte is set, as frames: type and
length are taken from the input, so that payloads reach their decoders.
"""

from __future__ import annotations

import random
from typing import Final

from penstock.errors import LinkError
from penstock.links import (
    Closed,
    Connection,
    LinkLimits,
    LinkOptions,
    Message,
    MessageReceived,
    Peers,
    Session,
    SessionRegistry,
)
from penstock.links.frames import (
    PREFIX,
    Acknowledge,
    Close,
    FrameType,
    Heartbeat,
    MessageStart,
    body_prefix,
    encode_control,
    encode_message_start,
)

DICTIONARY = None

_LIMITS: Final = LinkLimits(
    frame_bytes=1_000,
    header_bytes=500,
    message_bytes=5_000,
    window_messages=10,
    window_bytes=5_000,
)
_STAGES: Final = 5
_NOW: Final = 1_000.0


def _pair() -> tuple[Connection, Connection]:
    """Two cores that nothing was carried between yet; unauthenticated, so proofs are reached."""
    rng = random.Random(1)
    initiator = Connection.initiator(
        options=LinkOptions(name="a", limits=_LIMITS),
        session=Session(peer="b", limits=_LIMITS),
        token=None,
        now=_NOW,
        random_bytes=rng.randbytes,
    )
    responder = Connection.responder(
        options=LinkOptions(name="b", limits=_LIMITS),
        peers=Peers(
            sessions=SessionRegistry(limits=_LIMITS), tokens={}, accept_unauthenticated=True
        ),
        now=_NOW,
        random_bytes=rng.randbytes,
    )
    return initiator, responder


def _carry(sender: Connection, receiver: Connection) -> bytes:
    data = b"".join(sender.data_to_send(_NOW, 10_000))
    receiver.receive_data(data, _NOW)
    return data


def seeds() -> list[bytes]:
    """The handshake of either side, and the frames of an established connection."""
    initiator, responder = _pair()
    hello = _carry(initiator, responder)
    challenge = _carry(responder, initiator)
    proof = _carry(initiator, responder)
    welcome = _carry(responder, initiator)
    traffic = (
        encode_message_start(MessageStart(1, 3, 7, None, b"header"))
        + body_prefix(1)
        + b"a"
        + encode_control(Heartbeat(number=1, sequence=0))
        + body_prefix(2)
        + b"bc"
        + encode_control(Acknowledge(sequence=1))
        + encode_control(Close(code="link.window", message="why"))
    )
    return [
        b"\x00\x07" + hello + proof,
        b"\x10\x01" + challenge + welcome,
        b"\x08\xff" + traffic,
        b"\x18\x03" + traffic,
        b"\x09\x20" + bytes([FrameType.MESSAGE, 30]) + traffic[5:35] + bytes([FrameType.BODY, 1]),
        b"\x03\x20" + bytes([FrameType.PROOF, 4]) + b"\x93\xc4\x00\xc4",
    ]


def _as_frames(data: bytes) -> bytes:
    """Reads the input as type, length, payload, and so on."""
    parts = []
    while len(data) >= 2:
        payload = data[2 : 2 + data[1]]
        parts.append(PREFIX.pack(len(payload), data[0] % (len(FrameType) + 1)) + payload)
        data = data[2 + data[1] :]
    return b"".join(parts)


def run_input(data: bytes) -> None:
    """Feed hostile bytes to one side of a link."""
    if len(data) < 2:
        return
    choice, slice_bytes, rest = data[0], data[1] or 256, data[2:]
    initiator, responder = _pair()
    for step in range(choice // 2 % _STAGES):
        _carry(*((initiator, responder) if step % 2 == 0 else (responder, initiator)))
    victim = initiator if choice & 16 else responder
    if victim.session is not None:
        victim.session.enqueue(Message(header=b"h", body=b"x" * 2_000))
        victim.data_to_send(_NOW, 100)
    victim.events()
    hostile = _as_frames(rest) if choice & 1 else rest
    for start in range(0, len(hostile), slice_bytes):
        victim.receive_data(hostile[start : start + slice_bytes], _NOW)
        victim.data_to_send(_NOW, 100)
        victim.tick(_NOW)
    events = victim.events()
    received = [event for event in events if isinstance(event, MessageReceived)]
    assert [event.sequence for event in received] == list(range(1, len(received) + 1))
    assert len(received) <= _LIMITS.window_messages
    assert sum(event.message.size for event in received) <= len(hostile)
    closed = [event for event in events if isinstance(event, Closed)]
    assert len(closed) == victim.closed
    for event in closed:
        assert event.error is None or isinstance(event.error, LinkError)
    if victim.session is not None:
        count = victim.session.count()
        assert count.unacknowledged_bytes >= 0
        assert count.unstored_bytes == sum(event.message.size for event in received)
