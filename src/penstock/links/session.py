"""Sessions: numbered messages in both directions that outlive connections."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from penstock.links.counters import LinkCounters
from penstock.links.frames import SESSION_ID_BYTES
from penstock.links.limits import OFFERED_SESSIONS, LinkLimits
from penstock.links.link_errors import link_error
from penstock.links.message import Message

__all__ = ["Session", "SessionState"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionState:
    """What an application stores of a session to resume it after a restart.

    ``stored`` has to be written in one transaction with the effect of the message that it counts,
    and a message has to be in the store before it is sent (``store`` of ``Link.send``). Then every
    message takes effect exactly once, whichever process is killed.
    """

    session_id: bytes
    """The last id that ``store`` of ``Link.send``, :class:`~penstock.links.MessageReceived` or
    :class:`~penstock.links.Established` had; empty if there was none."""

    acknowledged: int = 0
    """Last own message that the peer acknowledged; an older number than the last is harmless."""

    unacknowledged: tuple[Message, ...] = ()
    """The messages sent after it."""

    stored: int = 0
    """Last message of the peer that the application stored."""

    def __post_init__(self) -> None:
        if len(self.session_id) not in {0, SESSION_ID_BYTES}:
            raise link_error("link.option", f"a session id has {SESSION_ID_BYTES} bytes, or none")
        if min(self.acknowledged, self.stored) < 0:
            raise link_error("link.option", "a sequence number is negative")
        if not self.session_id and (self.acknowledged or self.stored):
            raise link_error("link.option", "sequence numbers without a session id")


class Session:
    """The two streams of messages between this side and a peer.

    A session has an id while both sides agree on it. When one side loses its state, the id changes
    and both streams start again from 1.

    >>> session = Session(peer="router-2", limits=LinkLimits())
    >>> session.enqueue(Message(body=b"<a/>"))
    1
    >>> session.state().unacknowledged
    (Message(header=b'', body=b'<a/>', kind=0),)
    """

    def __init__(self, *, peer: str, limits: LinkLimits, state: SessionState | None = None) -> None:
        state = state or SessionState(session_id=b"")
        self.peer = peer
        self.limits = limits
        self.id = state.session_id
        """Empty until the first handshake."""
        self.offered: dict[bytes, int] = {}
        """Ids of new sessions that the responder has offered and the initiator has not confirmed,
        each with the number of the last handshake that offered it."""
        self.handshakes = 0
        """Handshakes that the responder has answered by Welcome."""
        self.confirmed_handshake = 0
        """The latest of them that the initiator has confirmed."""
        self.acknowledged = state.acknowledged
        """Last sequence number that the peer acknowledged."""
        self._messages: dict[int, Message] = {}
        """The send buffer: messages after ``acknowledged`` by sequence number."""
        self._message_bytes = 0
        self.sender_waits = False
        """Whether a message found no room since the last acknowledgement."""
        self.received = state.stored
        """Last sequence number that was received and handed over."""
        self.stored = state.stored
        """Last sequence number that the application acknowledged."""
        self._unstored_sizes: deque[int] = deque()
        self._unstored_bytes = 0
        for message in state.unacknowledged:
            self._append(message)
        self.transmitted = self.sent if self.id else 0
        """Highest sequence number that may have reached the peer."""
        self.counters = LinkCounters()
        self._supersede: Callable[[], None] | None = None

    # Sending

    @property
    def sent(self) -> int:
        """Last sequence number that was assigned."""
        return self.acknowledged + len(self._messages)

    @property
    def unacknowledged_bytes(self) -> int:
        """Bytes in the send buffer."""
        return self._message_bytes

    def message(self, sequence: int) -> Message:
        """A message of the send buffer."""
        return self._messages[sequence]

    def check(self, message: Message) -> None:
        """Raises ``link.message`` if a message exceeds a limit of this side."""
        if len(message.header) > self.limits.header_bytes:
            raise link_error("link.message", f"the header has {len(message.header)} bytes")
        if message.size > self.limits.message_bytes:
            raise link_error("link.message", f"the message has {message.size} bytes")

    def has_room(self, message: Message) -> bool:
        """Whether the send buffer has room for a message."""
        return not self._messages or (
            len(self._messages) < self.limits.window_messages
            and self._message_bytes + message.size <= self.limits.window_bytes
        )

    def try_enqueue(self, message: Message) -> int | None:
        """As :meth:`enqueue`, but returns ``None`` and notes that a sender waits if there is no
        room: from then on the peer can become a slow consumer."""
        self.check(message)
        if not self.has_room(message):
            self.sender_waits = True
            return None
        self._append(message)
        return self.sent

    def enqueue(self, message: Message) -> int:
        """Adds a message to the send buffer, and returns its sequence number.

        Raises
        ------
        LocalLinkError
            The message is too long (``link.message``), or there is no room (``link.window-full``).
        """
        sequence = self.try_enqueue(message)
        if sequence is None:
            raise link_error(
                "link.window-full",
                f"{len(self._messages)} messages of {self._message_bytes} bytes are not"
                " acknowledged",
            )
        return sequence

    def _append(self, message: Message) -> None:
        self._messages[self.sent + 1] = message
        self._message_bytes += message.size

    def acknowledged_by_peer(self, sequence: int) -> bool:
        """Removes the messages up to ``sequence`` from the send buffer, and returns whether any."""
        if sequence > self.transmitted:
            raise link_error(
                "link.acknowledgement",
                f"acknowledgement of {sequence}, and {self.transmitted} was the last message sent",
            )
        if sequence <= self.acknowledged:
            return False
        for each in range(self.acknowledged + 1, sequence + 1):
            self._message_bytes -= self._messages.pop(each).size
        self.acknowledged = sequence
        self.sender_waits = False
        return True

    # Receiving

    def check_window(self, size: int) -> None:
        """Raises ``link.window`` if the peer must not send a message of ``size`` bytes now."""
        count = len(self._unstored_sizes)
        if count and (
            count >= self.limits.window_messages
            or self._unstored_bytes + size > self.limits.window_bytes
        ):
            raise link_error(
                "link.window",
                f"{count} messages of {self._unstored_bytes} bytes were not acknowledged, and the"
                " peer sent another",
            )

    def accept(self, message: Message) -> int:
        """Counts a received message, and returns its sequence number."""
        self.received += 1
        self._unstored_sizes.append(message.size)
        self._unstored_bytes += message.size
        self.counters.messages_received += 1
        return self.received

    def acknowledge(self, session_id: bytes, sequence: int) -> None:
        """States that the application has stored every message up to ``sequence``.

        Messages of an earlier session are ignored: the peer has forgotten them.
        """
        if session_id != self.id:
            return
        if sequence > self.received:
            raise link_error(
                "link.acknowledge", f"message {sequence}, and {self.received} was the last received"
            )
        for _ in range(sequence - self.stored):
            self._unstored_bytes -= self._unstored_sizes.popleft()
        self.stored = max(self.stored, sequence)

    # Resuming

    def can_resume(self, session_id: bytes, peer_received: int) -> bool:
        """Whether both sides' states fit: what the peer lacks is still in the send buffer."""
        return (
            bool(self.id)
            and session_id == self.id
            and self.acknowledged <= peer_received <= self.transmitted
        )

    def restart(self, session_id: bytes) -> tuple[bytes, tuple[Message, ...]] | None:
        """Starts a new session, and returns id and unacknowledged messages of the one it ends.

        Messages that were enqueued without a session were never transmitted: they belong to the
        new one.
        """
        ended = None
        messages = tuple(self._messages.values())
        if self.id:
            ended = (self.id, messages)
            messages = ()
            self.counters.resets += 1
        self.id = session_id
        self.acknowledged = self.transmitted = self.received = self.stored = 0
        self._messages = {}
        self._message_bytes = 0
        self.sender_waits = False
        self.forget_unstored()
        for message in messages:
            self._append(message)
        return ended

    def offer(self, session_id: bytes, handshake: int) -> None:
        """Notes that a handshake has offered a new session."""
        self.offered.pop(session_id, None)
        self.offered[session_id] = handshake
        if len(self.offered) > OFFERED_SESSIONS:
            del self.offered[next(iter(self.offered))]

    def confirm(self, handshake: int) -> None:
        """The initiator has confirmed a handshake, so the offers of earlier ones are void."""
        self.confirmed_handshake = handshake
        later = {each: number for each, number in self.offered.items() if number > handshake}
        later.pop(self.id, None)
        self.offered = later

    def forget_unstored(self) -> None:
        """Forgets the messages that the application did not acknowledge: the peer sends them again.

        For an application that has lost them. No connection may have the session.
        """
        self.received = self.stored
        self._unstored_sizes.clear()
        self._unstored_bytes = 0

    def attach(self, supersede: Callable[[], None]) -> None:
        """Gives the session to a connection; calls ``supersede`` of the one that had it."""
        previous, self._supersede = self._supersede, supersede
        if previous is not None:
            previous()

    def detach(self, supersede: Callable[[], None]) -> None:
        """Takes the session from a connection that ended, unless another has it."""
        if self._supersede == supersede:
            self._supersede = None

    @property
    def attached(self) -> bool:
        """Whether a connection has the session."""
        return self._supersede is not None

    def state(self) -> SessionState:
        """What has to be stored to resume the session after a restart."""
        return SessionState(
            session_id=self.id,
            acknowledged=self.acknowledged,
            unacknowledged=tuple(self._messages.values()),
            stored=self.stored,
        )

    def count(self) -> LinkCounters:
        """The counters, with the current sizes of buffers."""
        return self.counters + LinkCounters(
            unacknowledged_messages=len(self._messages),
            unacknowledged_bytes=self._message_bytes,
            unstored_messages=len(self._unstored_sizes),
            unstored_bytes=self._unstored_bytes,
        )
