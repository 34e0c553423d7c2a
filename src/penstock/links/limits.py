"""The limits of links: frames, messages, windows, sessions and connections."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from penstock.errors import error

__all__ = ["LinkLimits"]

KIB = 1 << 10
MIB = 1 << 20

CONTROL_FRAME_BYTES: Final[int] = 8 * KIB
"""Payload of a control frame. Before a connection is established, of any frame: until a peer has
proved that it knows the token, it can make this side buffer no more than this."""

NAME_CHARACTERS: Final[int] = 255
"""Characters of a router's name."""

CAPABILITIES: Final[int] = 32
"""Capabilities that a side states in the handshake."""

CAPABILITY_CHARACTERS: Final[int] = 64
"""Characters of a capability."""

CLOSE_CHARACTERS: Final[int] = 500
"""Characters of the reason in a Close frame; a longer one is truncated."""

TOKEN_BYTES_MIN: Final[int] = 16
"""Bytes of a token, at least. Whoever watches a handshake without TLS can try out tokens offline,
so a token must be random and not a word."""

HEARTBEAT_TIMEOUT_MS_MIN: Final[int] = 300
"""The shortest heartbeat time-out that a peer may ask for, in milliseconds; this bounds how often
it can make this side send heartbeats."""

HEARTBEAT_TIMEOUT_MS_MAX: Final[int] = 3_600_000
"""The longest heartbeat time-out, in milliseconds."""

FRAME_BYTES_MIN: Final[int] = 64
"""The least ``frame_bytes`` of a side: a peer must not ask for a frame for each byte."""

INPUT_BYTES: Final[int] = 64 * KIB
"""Bytes that the driver reads at a time, into one buffer for each connection."""

OUTPUT_BYTES: Final[int] = 128 * KIB
"""Bytes that the driver takes from the core at a time, and those that may wait in the transport
and, where the system allows it, unsent in the kernel. A heartbeat waits behind no more payload."""

STATUS_EVENTS: Final[int] = 64
"""Events about connections (established, closed) that wait for the application. Past this, the
oldest of them is discarded and counted; messages and resets never are."""

OFFERED_SESSIONS: Final[int] = 8
"""New sessions that a server has offered to a peer, who has confirmed none of them. More than one
are due to handshakes that the network delivers late; past this, the oldest offer is void."""

UNREAD_RESETS: Final[int] = 2
"""Resets that wait for the application. Each ended session may leave a window of messages that the
application has not received, so at this limit connections are closed until it reads on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkLimits:
    """Upper bounds of a link. Both sides announce theirs in the handshake.

    >>> LinkLimits(window_messages=10).window_messages
    10
    """

    frame_bytes: int = 256 * KIB
    """Payload of a frame that carries a part of a body."""

    chunk_bytes: int = 64 * KIB
    """Payload of the body frames that this side sends, if the peer's ``frame_bytes`` is not less.
    Heartbeats and acknowledgements are sent between two of them."""

    header_bytes: int = 64 * KIB
    """Header of a message."""

    message_bytes: int = 64 * MIB
    """Header and body of a message together."""

    window_messages: int = 1_000
    """Messages that may be sent and not acknowledged, in each direction. The sender waits, or
    disconnects: see ``slow_consumer``."""

    window_bytes: int = 16 * MIB
    """Bytes of messages that may be sent and not acknowledged, in each direction. A message that is
    alone in the window may be longer."""

    sessions: int = 1_000
    """Sessions of a server with unauthenticated peers, and with members of a group that shares one
    token; those of others are bounded by their tokens. At the limit, a session that is neither
    connected nor has messages waiting makes room; if there is none, the new peer is refused."""

    connections: int = 1_000
    """Connections of a server at once, in handshakes or established. At the limit, a new one
    replaces the oldest in a handshake, or is closed if there is none. A connection counts from the
    end of its TLS handshake, for which ``handshake_seconds`` is the time-out."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or not 0 < value < 1 << 40:
                raise error(
                    "link.option",
                    f"the limit {field.name} must be a positive integer below 2**40, not {value!r}",
                )
        if self.frame_bytes < FRAME_BYTES_MIN:
            raise error("link.option", f"the limit frame_bytes is less than {FRAME_BYTES_MIN}")
        if self.header_bytes > self.message_bytes:
            raise error("link.option", "the limit header_bytes is more than message_bytes")
