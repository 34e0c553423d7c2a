"""Frames: the units that are written to a connection.

A connection begins with :data:`PREAMBLE` in both directions. Then come frames::

    payload length  4 bytes, big-endian
    type            1 byte, a FrameType
    payload

Control frames have a msgpack array as payload. A message is a Message frame, which holds the fixed
fields and the application's header as they are, and then as many Body frames as its body needs,
which hold nothing but bytes of the body.
"""

from __future__ import annotations

import contextlib
import enum
import struct
from typing import Annotated, Final, NamedTuple

import msgspec

from penstock.links.limits import (
    CAPABILITIES,
    CAPABILITY_CHARACTERS,
    CLOSE_CHARACTERS,
    FRAME_BYTES_MIN,
    HEARTBEAT_TIMEOUT_MS_MAX,
    HEARTBEAT_TIMEOUT_MS_MIN,
    NAME_CHARACTERS,
)
from penstock.links.link_errors import link_error
from penstock.links.options import NAME_PATTERN

PREAMBLE: Final = b"\xf5PENL1\r\n"
"""The first bytes of a connection. The first byte never occurs in UTF-8, and whatever converts text
damages the line end; the digit is the version of the framing."""

PROTOCOL_VERSION: Final = 1
"""Version of the handshake and the session protocol."""

NONCE_BYTES: Final = 32
SESSION_ID_BYTES: Final = 16
MAC_BYTES: Final = 32

PREFIX: Final = struct.Struct(">IB")
"""Length of the payload, and type."""


class FrameType(enum.IntEnum):
    """The type byte of a frame."""

    HELLO = 1
    CHALLENGE = 2
    PROOF = 3
    WELCOME = 4
    MESSAGE = 5
    BODY = 6
    ACKNOWLEDGE = 7
    HEARTBEAT = 8
    HEARTBEAT_REPLY = 9
    CLOSE = 10


class Frame(NamedTuple):
    """A frame as the decoder returns it."""

    type: FrameType
    payload: bytes


_Count = Annotated[int, msgspec.Meta(ge=1, le=(1 << 40) - 1)]
_Sequence = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
_Nonce = Annotated[bytes, msgspec.Meta(min_length=NONCE_BYTES, max_length=NONCE_BYTES)]
_Name = Annotated[str, msgspec.Meta(min_length=1, max_length=NAME_CHARACTERS, pattern=NAME_PATTERN)]
_Capability = Annotated[
    str, msgspec.Meta(min_length=1, max_length=CAPABILITY_CHARACTERS, pattern=NAME_PATTERN)
]


class _Control(msgspec.Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Payload of a control frame."""


class Introduction(_Control, frozen=True, kw_only=True):
    """What each side says about itself: version, name, nonce, capabilities and limits."""

    version: Annotated[int, msgspec.Meta(ge=0, le=255)]
    name: _Name
    nonce: _Nonce
    capabilities: Annotated[tuple[_Capability, ...], msgspec.Meta(max_length=CAPABILITIES)]
    heartbeat_timeout_ms: Annotated[
        int, msgspec.Meta(ge=HEARTBEAT_TIMEOUT_MS_MIN, le=HEARTBEAT_TIMEOUT_MS_MAX)
    ]
    frame_bytes: Annotated[int, msgspec.Meta(ge=FRAME_BYTES_MIN, le=(1 << 40) - 1)]
    header_bytes: _Count
    message_bytes: _Count
    window_messages: _Count
    window_bytes: _Count


class Hello(Introduction, frozen=True, kw_only=True):
    """The initiator's first frame."""


class Challenge(Introduction, frozen=True, kw_only=True):
    """The responder's answer to Hello."""


class Proof(_Control, frozen=True, kw_only=True):
    """The initiator proves that it knows the token, and proposes a session to resume."""

    mac: bytes
    """HMAC of the transcript; empty without a token."""

    session_id: bytes
    """The session to resume; empty if there is none."""

    received: _Sequence
    """Last sequence number that the initiator has received in that session."""

    def __post_init__(self) -> None:
        _check_length("mac", self.mac, 0, MAC_BYTES)
        _check_length("session_id", self.session_id, 0, SESSION_ID_BYTES)


class Welcome(_Control, frozen=True, kw_only=True):
    """The responder proves that it knows the token, and states the session."""

    mac: bytes
    session_id: bytes
    received: _Sequence

    def __post_init__(self) -> None:
        _check_length("mac", self.mac, 0, MAC_BYTES)
        _check_length("session_id", self.session_id, SESSION_ID_BYTES)


class Acknowledge(_Control, frozen=True, kw_only=True):
    """Everything up to ``sequence`` is stored by the receiving application."""

    sequence: _Sequence


class Heartbeat(_Control, frozen=True, kw_only=True):
    """Asks for a HeartbeatReply with the same number."""

    number: _Sequence
    sequence: _Sequence
    """The last message that was sent completely before this frame, so that a loss shows even if no
    message follows."""


class HeartbeatReply(_Control, frozen=True, kw_only=True):
    """Answers a Heartbeat."""

    number: _Sequence


class Close(_Control, frozen=True, kw_only=True):
    """The last frame: why the connection is closed."""

    code: Annotated[str, msgspec.Meta(max_length=64, pattern=r"\A([a-z]+\.[a-z-]+)?\Z")]
    """An error code; empty if nothing is wrong."""

    message: Annotated[str, msgspec.Meta(max_length=CLOSE_CHARACTERS)]


def _check_length(name: str, value: bytes, *lengths: int) -> None:
    if len(value) not in lengths:
        raise ValueError(f"{name} has {len(value)} bytes")


ControlFrame = (
    Hello | Challenge | Proof | Welcome | Acknowledge | Heartbeat | HeartbeatReply | Close
)

_TYPES: Final[dict[type[_Control], FrameType]] = {
    Hello: FrameType.HELLO,
    Challenge: FrameType.CHALLENGE,
    Proof: FrameType.PROOF,
    Welcome: FrameType.WELCOME,
    Acknowledge: FrameType.ACKNOWLEDGE,
    Heartbeat: FrameType.HEARTBEAT,
    HeartbeatReply: FrameType.HEARTBEAT_REPLY,
    Close: FrameType.CLOSE,
}

_encoder: Final = msgspec.msgpack.Encoder()
_decoders: Final[dict[FrameType, msgspec.msgpack.Decoder[ControlFrame]]] = {
    type_: msgspec.msgpack.Decoder(cls) for cls, type_ in _TYPES.items()
}


def encode_payload(frame: ControlFrame) -> bytes:
    """Returns the payload of a control frame."""
    return _encoder.encode(frame)


def encode_control(frame: ControlFrame) -> bytes:
    """Returns a control frame with its prefix."""
    payload = _encoder.encode(frame)
    return PREFIX.pack(len(payload), _TYPES[type(frame)]) + payload


def decode_control(frame: Frame) -> ControlFrame:
    """Returns the contents of a control frame, or raises ``link.frame-payload``."""
    try:
        return _decoders[frame.type].decode(frame.payload)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        _check_version_alone(frame)
        raise link_error(
            "link.frame-payload", f"the payload of a {frame.type.name} frame: {problem}"
        ) from None


def _check_version_alone(frame: Frame) -> None:
    """Raises ``link.version`` if an introduction is malformed because its version is another."""
    if frame.type not in {FrameType.HELLO, FrameType.CHALLENGE}:
        return
    with contextlib.suppress(msgspec.MsgspecError, ValueError, RecursionError):
        match msgspec.msgpack.decode(frame.payload):
            case [int() as version, *_] if version != PROTOCOL_VERSION:
                raise link_error(
                    "link.version",
                    f"the peer speaks version {version}, this side {PROTOCOL_VERSION}",
                )


_MESSAGE_FIELDS: Final = struct.Struct(">QQBBI")
_HAS_CHECKSUM: Final = 1

MESSAGE_FIELDS_BYTES: Final = _MESSAGE_FIELDS.size
"""Bytes of a Message frame's payload before the header."""


class MessageStart(NamedTuple):
    """The contents of a Message frame."""

    sequence: int
    body_bytes: int
    kind: int
    checksum: int | None
    header: bytes


def encode_message_start(start: MessageStart) -> bytes:
    """Returns a Message frame with its prefix."""
    flags = 0 if start.checksum is None else _HAS_CHECKSUM
    return (
        PREFIX.pack(MESSAGE_FIELDS_BYTES + len(start.header), FrameType.MESSAGE)
        + _MESSAGE_FIELDS.pack(
            start.sequence, start.body_bytes, start.kind, flags, start.checksum or 0
        )
        + start.header
    )


def decode_message_start(payload: bytes) -> MessageStart:
    """Returns the contents of a Message frame, or raises ``link.frame-payload``."""
    if len(payload) < MESSAGE_FIELDS_BYTES:
        raise link_error("link.frame-payload", f"a MESSAGE frame has only {len(payload)} bytes")
    sequence, body_bytes, kind, flags, checksum = _MESSAGE_FIELDS.unpack_from(payload)
    if flags not in {0, _HAS_CHECKSUM} or (not flags and checksum) or not sequence:
        raise link_error("link.frame-payload", "a MESSAGE frame has invalid fields")
    return MessageStart(
        sequence, body_bytes, kind, checksum if flags else None, payload[MESSAGE_FIELDS_BYTES:]
    )


def body_prefix(length: int) -> bytes:
    """Returns the prefix of a Body frame; the bytes of the body follow as they are."""
    return PREFIX.pack(length, FrameType.BODY)
