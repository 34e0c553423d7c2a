"""What a link tells the application. Events are immutable and validated when they are made."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.errors import LinkError
from penstock.links.frames import SESSION_ID_BYTES
from penstock.links.message import Message

__all__ = [
    "Acknowledged",
    "Closed",
    "Established",
    "LinkEvent",
    "MessageReceived",
    "SessionReset",
]


def _check_session_id(session_id: bytes) -> None:
    if len(session_id) != SESSION_ID_BYTES:
        raise ValueError(f"a session id has {SESSION_ID_BYTES} bytes, not {len(session_id)}")


def _check_sequence(sequence: int) -> None:
    if sequence < 1:
        raise ValueError(f"sequence numbers begin with 1, not {sequence}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Established:
    """A connection is ready: the handshake is complete, and the session is resumed or new."""

    peer: str
    """Name of the peer."""

    authenticated: bool
    """Whether both sides proved that they know the token. What an unauthenticated peer says about
    documents, such as annotations and attestations, must not be trusted."""

    session_id: bytes
    resumed: bool
    """Whether the session existed before this connection."""

    capabilities: frozenset[str]
    """What the peer supports."""

    def __post_init__(self) -> None:
        _check_session_id(self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionReset:
    """One side lost its state, so the session ended and the next one starts without it.

    Comes before the :class:`Established` of the new session. What the peer acknowledged in the old
    session may be lost on its side, so the application has to synchronise its state with the peer.
    """

    session_id: bytes
    """The session that ended."""

    unacknowledged: tuple[Message, ...]
    """Messages of the old session that the peer did not acknowledge, in order. Whether it stored
    any of them is unknown. They are not sent again unless the application does so."""

    def __post_init__(self) -> None:
        _check_session_id(self.session_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReceived:
    """A message, exactly once and in order within its session."""

    session_id: bytes
    sequence: int
    message: Message = field(repr=False)

    def __post_init__(self) -> None:
        _check_session_id(self.session_id)
        _check_sequence(self.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """The peer's application stored every message up to ``sequence``."""

    session_id: bytes
    sequence: int

    def __post_init__(self) -> None:
        _check_session_id(self.session_id)
        _check_sequence(self.sequence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closed:
    """A connection ended; the session waits for the next one."""

    error: LinkError | None
    """Why; ``None`` if one of the sides closed it without an error. The class says whose fault it
    was: ``LocalLinkError``, ``PeerLinkError``, or ``LinkError`` for the network."""

    peer_code: str = ""
    """The code that the peer gave if it closed the connection because of an error."""

    def __post_init__(self) -> None:
        if self.error is None and self.peer_code:
            raise ValueError("a peer's code without an error")


LinkEvent = Established | SessionReset | MessageReceived | Acknowledged | Closed
"""All events."""
