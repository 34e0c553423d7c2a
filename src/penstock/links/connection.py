"""One connection: bytes in, bytes and events out, without I/O, clock or randomness of its own.

The driver passes received bytes and the time to :class:`Connection`, writes what
:meth:`Connection.data_to_send` returns, and calls :meth:`Connection.tick` at
:attr:`Connection.deadline`. Messages to send and acknowledgements are taken from the session, so
the driver only has to ask for data again after the application changed it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from penstock.errors import LinkError
from penstock.links.counters import LinkCounters
from penstock.links.events import (
    Acknowledged,
    Closed,
    Established,
    LinkEvent,
    MessageReceived,
    SessionReset,
)
from penstock.links.frame_decoder import FrameDecoder
from penstock.links.frames import (
    PREAMBLE,
    Acknowledge,
    Challenge,
    Close,
    ControlFrame,
    Frame,
    FrameType,
    Heartbeat,
    HeartbeatReply,
    Hello,
    MessageStart,
    Proof,
    Welcome,
    body_prefix,
    decode_control,
    decode_message_start,
    encode_control,
    encode_message_start,
)
from penstock.links.handshake import (
    Agreement,
    InitiatorHandshake,
    Peers,
    RandomBytes,
    ResponderHandshake,
)
from penstock.links.limits import CLOSE_CHARACTERS
from penstock.links.link_errors import link_error
from penstock.links.message import Message
from penstock.links.options import LinkOptions
from penstock.links.session import Session
from penstock.links.transitions import INITIAL_STATES, TRANSITIONS, Input, Role, State

__all__ = ["Connection"]

_CONTROL_INPUTS: Final = {
    FrameType.HELLO: Input.HELLO,
    FrameType.CHALLENGE: Input.CHALLENGE,
    FrameType.PROOF: Input.PROOF,
    FrameType.WELCOME: Input.WELCOME,
    FrameType.ACKNOWLEDGE: Input.ACKNOWLEDGE,
    FrameType.HEARTBEAT: Input.HEARTBEAT,
    FrameType.HEARTBEAT_REPLY: Input.HEARTBEAT_REPLY,
    FrameType.CLOSE: Input.CLOSE,
}

_OPEN: Final = frozenset({State.ESTABLISHED, State.RECEIVING_BODY})

_HEARTBEATS_PER_TIMEOUT: Final = 3
"""Heartbeats sent within the peer's time-out, so that a late one does not end the connection."""


class _Assembly:
    """The message whose body is arriving."""

    __slots__ = ("body", "duplicate", "missing", "start")

    def __init__(self, start: MessageStart, *, duplicate: bool) -> None:
        self.start = start
        self.duplicate = duplicate
        self.missing = start.body_bytes
        # Grows with what has arrived, whatever the peer announced.
        self.body: bytes | bytearray = b""

    def add(self, chunk: bytes) -> None:
        if not chunk or len(chunk) > self.missing:
            raise link_error(
                "link.frame-payload",
                f"a BODY frame has {len(chunk)} bytes, and {self.missing} are missing",
            )
        self.missing -= len(chunk)
        if self.duplicate:
            return
        if not self.body:
            self.body = chunk
        elif isinstance(self.body, bytes):
            self.body = bytearray(self.body + chunk)
        else:
            self.body += chunk

    def message(self) -> Message:
        # A body of one chunk is not copied.
        message = Message(header=self.start.header, body=bytes(self.body), kind=self.start.kind)
        if self.start.checksum is not None and message.checksum() != self.start.checksum:
            raise link_error("link.checksum", f"message {self.start.sequence} was damaged")
        return message


class _Transmission:
    """The message whose body is being sent."""

    __slots__ = ("body", "offset")

    def __init__(self, body: bytes) -> None:
        self.body = memoryview(body)
        self.offset = 0


class Connection:
    """The protocol of one connection, from the handshake to its end.

    Use :meth:`initiator` and :meth:`responder`. Every change of :attr:`state` follows
    :data:`~penstock.links.transitions.TRANSITIONS`.
    """

    def __init__(
        self,
        *,
        role: Role,
        options: LinkOptions,
        handshake: InitiatorHandshake | ResponderHandshake,
        now: float,
    ) -> None:
        self.role = role
        self.state = INITIAL_STATES[role]
        self.counters = LinkCounters(connections=1)
        self.round_trip_seconds: float | None = None
        """Time between the last heartbeat and its reply."""
        self._options = options
        self._handshake = handshake
        self._decoder = FrameDecoder(options.limits)
        self._agreement: Agreement | None = None
        self._events: list[LinkEvent] = []
        self._control: list[bytes] = [PREAMBLE]
        """Handshake and Close frames; at most a handful."""
        self._started_at = now
        self._received_at = now
        self._closing_at = now
        # Receiving
        self._assembly: _Assembly | None = None
        # Sending
        self._next_sequence = 1
        self._in_flight_bytes = 0
        """Bytes of messages that the peer has, or will get, and has not acknowledged."""
        self._transmission: _Transmission | None = None
        self._acknowledged_sent = -1
        self._heartbeat_due = False
        self._heartbeat_number = 0
        self._heartbeat_at = now
        self._heartbeat_sent_at: float | None = None
        self._reply_due: int | None = None
        self._full_since: float | None = None
        """Since when messages wait and the peer acknowledges nothing."""
        if isinstance(handshake, InitiatorHandshake):
            self._send_control(handshake.hello)

    @classmethod
    def initiator(
        cls,
        *,
        options: LinkOptions,
        session: Session,
        token: bytes | None,
        now: float,
        random_bytes: RandomBytes,
        channel_binding: bytes = b"",
    ) -> Connection:
        """The side that connects; it knows which peer it wants, by ``session.peer``."""
        handshake = InitiatorHandshake(
            options=options,
            session=session,
            token=token,
            random_bytes=random_bytes,
            channel_binding=channel_binding,
        )
        return cls(role=Role.INITIATOR, options=options, handshake=handshake, now=now)

    @classmethod
    def responder(
        cls,
        *,
        options: LinkOptions,
        peers: Peers,
        now: float,
        random_bytes: RandomBytes,
        channel_binding: bytes = b"",
    ) -> Connection:
        """The side that accepts; it learns from the handshake who the peer is."""
        handshake = ResponderHandshake(
            options=options,
            peers=peers,
            random_bytes=random_bytes,
            channel_binding=channel_binding,
        )
        return cls(role=Role.RESPONDER, options=options, handshake=handshake, now=now)

    # What the driver and the application read

    @property
    def authenticated(self) -> bool:
        """Whether the connection is established and both sides proved that they know the token."""
        return self.state in _OPEN and self._agreed.authenticated

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; a last frame may still have to be sent."""
        return self.state is State.CLOSED

    @property
    def session(self) -> Session | None:
        """The session, once both sides have agreed on it."""
        return None if self._agreement is None else self._agreement.session

    def events(self) -> list[LinkEvent]:
        """Returns and forgets the events since the last call."""
        events, self._events = self._events, []
        return events

    @property
    def events_wait(self) -> bool:
        """Whether there are events."""
        return bool(self._events)

    @property
    def deadline(self) -> float | None:
        """When :meth:`tick` has to be called, at the latest; ``None`` once closed."""
        match self.state:
            case State.CLOSED:
                return None
            case State.CLOSING:
                return self._closing_at + self._options.close_seconds
            case State.ESTABLISHED | State.RECEIVING_BODY:
                deadlines = [
                    self._heartbeat_at + self._heartbeat_interval,
                    self._received_at + self._options.heartbeat_timeout_seconds,
                ]
                if self._full_since is not None and self._options.slow_consumer == "disconnect":
                    deadlines.append(self._full_since + self._options.slow_consumer_seconds)
                return min(deadlines)
            case _:
                return self._started_at + self._options.handshake_seconds

    # Inputs

    def receive_data(self, data: bytes | bytearray | memoryview, now: float) -> None:
        """Processes bytes from the peer, in whatever slices they come."""
        if self.state is State.CLOSED:
            return
        self.counters.bytes_received += len(data)
        self._decoder.feed(data)
        try:
            while not self.closed:
                frame = self._decoder.next_frame()
                if frame is None:
                    return
                self.counters.frames_received += 1
                # Only complete frames count: a peer that sends a byte now and then is not alive.
                self._received_at = now
                self._receive_frame(frame, now)
        except LinkError as violation:
            self._fail(Input.VIOLATION, violation)

    def connection_lost(self, reason: str = "") -> None:
        """The transport has ended; nothing can be sent any more."""
        if self.state is State.CLOSED:
            return
        closing = self.state is State.CLOSING
        self._move(Input.CONNECTION_LOST)
        self._control.clear()
        self._close(None if closing else link_error("link.lost", reason or "the connection ended"))

    def close(self, now: float) -> None:
        """Closes the connection; the session stays and can be resumed."""
        if self.state in {State.CLOSING, State.CLOSED}:
            return
        self._move(Input.CLOSE_REQUEST)
        self._closing_at = now
        self._send_control(Close(code="", message=""))
        if self.closed:
            self._close(None)

    def tick(self, now: float) -> None:
        """Sends heartbeats that are due, and ends the connection if a time-out has passed."""
        options = self._options
        match self.state:
            case State.CLOSED:
                return
            case State.CLOSING:
                if now >= self._closing_at + options.close_seconds:
                    self._move(Input.TIME_OUT)
                    self._close(None)
            case State.ESTABLISHED | State.RECEIVING_BODY:
                self._tick_open(now)
            case _:
                if now >= self._started_at + options.handshake_seconds:
                    self._fail(
                        Input.TIME_OUT,
                        link_error("link.handshake-timeout", f"{self.state.value} for too long"),
                    )

    def _tick_open(self, now: float) -> None:
        options = self._options
        if now >= self._received_at + options.heartbeat_timeout_seconds:
            silence = now - self._received_at
            self._fail(
                Input.TIME_OUT,
                link_error(
                    "link.heartbeat-timeout", f"nothing was received for {silence:.1f} seconds"
                ),
            )
            return
        if (
            options.slow_consumer == "disconnect"
            and self._full_since is not None
            and now >= self._full_since + options.slow_consumer_seconds
        ):
            count = self._next_sequence - 1 - self._agreed.session.acknowledged
            self._fail(
                Input.TIME_OUT,
                link_error(
                    "link.slow-consumer",
                    f"none of {count} messages was acknowledged for"
                    f" {now - self._full_since:.1f} seconds",
                ),
            )
            return
        if now >= self._heartbeat_at + self._heartbeat_interval:
            self._heartbeat_at = now
            self._heartbeat_due = True
            # Again, in case that a faulty intermediary has lost the last one.
            self._acknowledged_sent = -1

    @property
    def _heartbeat_interval(self) -> float:
        of_peer = self._agreed.peer.heartbeat_timeout_ms / 1000 / _HEARTBEATS_PER_TIMEOUT
        return min(self._options.heartbeat_seconds, of_peer)

    # Transitions

    @property
    def _agreed(self) -> Agreement:
        assert self._agreement is not None, "the handshake is complete"
        return self._agreement

    def _move(self, input_: Input) -> None:
        """Changes the state as the table says."""
        following = TRANSITIONS[self.state].get(input_)
        if following is None:
            raise link_error(
                "link.unexpected-frame", f"{input_.value!r} in the state {self.state.value!r}"
            )
        self.state = following

    def _fail(self, input_: Input, problem: LinkError) -> None:
        """Ends the connection because of an error, and tells the peer."""
        if self.state is State.CLOSED:
            return
        self._move(input_)
        self._send_control(Close(code=problem.code, message=problem.message[:CLOSE_CHARACTERS]))
        self._close(problem)

    def _close(self, problem: LinkError | None, peer_code: str = "") -> None:
        assert self.state is State.CLOSED
        self._assembly = None
        self._transmission = None
        self._heartbeat_due = False
        self._reply_due = None
        if self._agreement is not None:
            self._agreement.session.detach(self._superseded)
        self._events.append(Closed(error=problem, peer_code=peer_code))

    def _superseded(self) -> None:
        self._fail(
            Input.SUPERSEDED,
            link_error("link.superseded", "the session continues on another connection"),
        )

    # Frames from the peer

    def _receive_frame(self, frame: Frame, now: float) -> None:
        if frame.type is FrameType.BODY:
            self._receive_body(frame.payload)
            return
        if frame.type is FrameType.MESSAGE:
            self._receive_message(decode_message_start(frame.payload))
            return
        content = decode_control(frame)
        before = self.state
        self._move(_CONTROL_INPUTS[frame.type])
        if before is State.AWAIT_CONFIRMATION and self.state is State.ESTABLISHED:
            assert isinstance(self._handshake, ResponderHandshake)
            self._agree(self._handshake.confirm())
            self._establish(now)
        _HANDLERS[frame.type](self, content, frame.payload, now)

    def _receive_hello(self, hello: ControlFrame, payload: bytes, _now: float) -> None:
        assert isinstance(hello, Hello)
        assert isinstance(self._handshake, ResponderHandshake)
        self._send_control(self._handshake.hello(hello, payload))

    def _receive_challenge(self, challenge: ControlFrame, payload: bytes, _now: float) -> None:
        assert isinstance(challenge, Challenge)
        assert isinstance(self._handshake, InitiatorHandshake)
        self._send_control(self._handshake.challenge(challenge, payload))

    def _receive_proof(self, proof: ControlFrame, _payload: bytes, _now: float) -> None:
        assert isinstance(proof, Proof)
        assert isinstance(self._handshake, ResponderHandshake)
        self._send_control(self._handshake.proof(proof))

    def _receive_welcome(self, welcome: ControlFrame, _payload: bytes, now: float) -> None:
        assert isinstance(welcome, Welcome)
        assert isinstance(self._handshake, InitiatorHandshake)
        agreement = self._handshake.welcome(welcome)
        self._agree(agreement)
        if not agreement.session.id:
            raise link_error(
                "link.resume", "both sides count the messages of the session differently"
            )
        self._establish(now)

    def _agree(self, agreement: Agreement) -> None:
        """Takes the session; whoever had it is superseded."""
        self._agreement = agreement
        agreement.session.attach(self._superseded)
        if agreement.ended is not None:
            session_id, messages = agreement.ended
            self._events.append(SessionReset(session_id=session_id, unacknowledged=messages))

    def _establish(self, now: float) -> None:
        agreement = self._agreed
        session, peer = agreement.session, agreement.peer
        self._decoder.allow_messages()
        self._next_sequence = agreement.peer_received + 1
        for sequence in range(session.acknowledged + 1, session.sent + 1):
            message = session.message(sequence)
            if message.size > peer.message_bytes or len(message.header) > peer.header_bytes:
                raise link_error(
                    "link.peer-limits",
                    f"message {sequence} has {message.size} bytes, {len(message.header)} of them"
                    f" header, and {peer.name!r} accepts {peer.message_bytes} and"
                    f" {peer.header_bytes}",
                )
            if sequence < self._next_sequence:
                self._in_flight_bytes += message.size
        self._heartbeat_at = now
        self._events.append(
            Established(
                peer=peer.name,
                authenticated=agreement.authenticated,
                session_id=session.id,
                resumed=agreement.resumed,
                capabilities=frozenset(peer.capabilities),
            )
        )

    def _receive_message(self, start: MessageStart) -> None:
        self._move(Input.MESSAGE if start.body_bytes else Input.MESSAGE_WITHOUT_BODY)
        if self.state not in _OPEN:
            return
        session = self._agreed.session
        size = len(start.header) + start.body_bytes
        if size > self._options.limits.message_bytes:
            raise link_error("link.message-bytes", f"message {start.sequence} has {size} bytes")
        duplicate = start.sequence <= session.received
        if duplicate:
            session.counters.duplicates += 1
            # The acknowledgement may have been lost with the connection: send it again.
            self._acknowledged_sent = -1
        elif start.sequence != session.received + 1:
            raise link_error(
                "link.sequence", f"message {start.sequence} follows message {session.received}"
            )
        else:
            session.check_window(size)
        self._assembly = _Assembly(start, duplicate=duplicate)
        if not start.body_bytes:
            self._hand_over()

    def _receive_body(self, chunk: bytes) -> None:
        assembly = self._assembly
        if assembly is None:
            self._move(Input.BODY)
            return
        last = len(chunk) == assembly.missing
        self._move(Input.LAST_BODY if last else Input.BODY)
        if self.state not in _OPEN:
            return
        assembly.add(chunk)
        if last:
            self._hand_over()

    def _hand_over(self) -> None:
        assembly, self._assembly = self._assembly, None
        assert assembly is not None
        if assembly.duplicate:
            return
        session = self._agreed.session
        message = assembly.message()
        sequence = session.accept(message)
        self._events.append(
            MessageReceived(session_id=session.id, sequence=sequence, message=message)
        )

    def _receive_acknowledge(self, frame: ControlFrame, _payload: bytes, now: float) -> None:
        assert isinstance(frame, Acknowledge)
        session = self._agreed.session
        before = session.unacknowledged_bytes
        if not session.acknowledged_by_peer(frame.sequence):
            return
        if self._next_sequence <= frame.sequence:
            # The peer had stored what it did not count as received when the session was resumed.
            self._next_sequence = frame.sequence + 1
            self._in_flight_bytes = 0
        else:
            self._in_flight_bytes -= before - session.unacknowledged_bytes
        self._full_since = None
        self._events.append(Acknowledged(session_id=session.id, sequence=frame.sequence))

    def _receive_heartbeat(self, frame: ControlFrame, _payload: bytes, _now: float) -> None:
        assert isinstance(frame, Heartbeat)
        received = self._agreed.session.received
        if frame.sequence > received and self.state in _OPEN:
            raise link_error(
                "link.sequence", f"message {frame.sequence} was sent, and {received} arrived last"
            )
        # One reply waits, however many heartbeats arrive.
        self._reply_due = frame.number

    def _receive_heartbeat_reply(self, frame: ControlFrame, _payload: bytes, now: float) -> None:
        assert isinstance(frame, HeartbeatReply)
        if frame.number == self._heartbeat_number and self._heartbeat_sent_at is not None:
            self.round_trip_seconds = now - self._heartbeat_sent_at
            self._heartbeat_sent_at = None

    def _receive_close(self, frame: ControlFrame, _payload: bytes, _now: float) -> None:
        assert isinstance(frame, Close)
        # The answer, unless this side closed first. The transport ends in either case.
        self._send_control(Close(code="", message=""))
        problem = None
        if frame.code:
            problem = link_error(
                "link.refused", f"the peer's reason: {frame.message!r} [{frame.code}]"
            )
        self._close(problem, frame.code)

    # Frames to the peer

    def _send_control(self, frame: ControlFrame) -> None:
        self._control.append(encode_control(frame))

    def _window_has_room(self) -> bool:
        """Whether the peer's window has room for the next message."""
        session, peer = self._agreed.session, self._agreed.peer
        count = self._next_sequence - 1 - session.acknowledged
        size = session.message(self._next_sequence).size
        return count == 0 or (
            count < peer.window_messages and self._in_flight_bytes + size <= peer.window_bytes
        )

    def data_to_send(self, now: float, bytes_max: int) -> list[bytes | memoryview]:
        """Returns what to write next: control frames, then payload until ``bytes_max`` is reached.

        An empty list means that nothing is to be sent now. Bodies are slices of the original
        bytes, not copies. The last frame may exceed ``bytes_max``.
        """
        data: list[bytes | memoryview] = []
        data += self._control
        self._control.clear()
        self.counters.frames_sent += len(data)
        if self.state in _OPEN:
            self._add_session_control(data, now)
            self._add_payload(data, now, bytes_max)
        size = sum(map(len, data))
        self.counters.bytes_sent += size
        return data

    def _add_session_control(self, data: list[bytes | memoryview], now: float) -> None:
        before = len(data)
        # First: it is the initiator's confirmation, which the responder waits for.
        stored = self._agreed.session.stored
        if stored > self._acknowledged_sent:
            self._acknowledged_sent = stored
            data.append(encode_control(Acknowledge(sequence=stored)))
        if self._reply_due is not None:
            data.append(encode_control(HeartbeatReply(number=self._reply_due)))
            self._reply_due = None
        if self._heartbeat_due:
            self._heartbeat_due = False
            self._heartbeat_number += 1
            self._heartbeat_sent_at = now
            complete = self._next_sequence - (1 if self._transmission is None else 2)
            data.append(encode_control(Heartbeat(number=self._heartbeat_number, sequence=complete)))
        self.counters.frames_sent += len(data) - before

    def _add_payload(self, data: list[bytes | memoryview], now: float, bytes_max: int) -> None:
        session = self._agreed.session
        size = 0
        while size < bytes_max:
            if self._transmission is not None:
                size += self._add_chunk(data, self._transmission)
            elif self._next_sequence <= session.sent and self._window_has_room():
                size += self._add_message(data)
            else:
                waits = session.sender_waits or self._next_sequence <= session.sent
                if waits and self._full_since is None:
                    self._full_since = now
                return

    def _add_message(self, data: list[bytes | memoryview]) -> int:
        session = self._agreed.session
        sequence = self._next_sequence
        message = session.message(sequence)
        if sequence <= session.transmitted:
            session.counters.retransmissions += 1
        session.counters.messages_sent += 1
        session.transmitted = max(session.transmitted, sequence)
        self._next_sequence += 1
        self._in_flight_bytes += message.size
        frame = encode_message_start(
            MessageStart(
                sequence,
                len(message.body),
                message.kind,
                message.checksum() if self._options.checksum else None,
                message.header,
            )
        )
        data.append(frame)
        self.counters.frames_sent += 1
        if message.body:
            self._transmission = _Transmission(message.body)
        return len(frame)

    def _add_chunk(self, data: list[bytes | memoryview], transmission: _Transmission) -> int:
        chunk_bytes = min(self._options.limits.chunk_bytes, self._agreed.peer.frame_bytes)
        chunk = transmission.body[transmission.offset : transmission.offset + chunk_bytes]
        transmission.offset += len(chunk)
        if transmission.offset == len(transmission.body):
            self._transmission = None
        data += (body_prefix(len(chunk)), chunk)
        self.counters.frames_sent += 1
        return len(chunk)


_Handler = Callable[[Connection, ControlFrame, bytes, float], None]

_HANDLERS: Final[dict[FrameType, _Handler]] = {
    FrameType.HELLO: Connection._receive_hello,
    FrameType.CHALLENGE: Connection._receive_challenge,
    FrameType.PROOF: Connection._receive_proof,
    FrameType.WELCOME: Connection._receive_welcome,
    FrameType.ACKNOWLEDGE: Connection._receive_acknowledge,
    FrameType.HEARTBEAT: Connection._receive_heartbeat,
    FrameType.HEARTBEAT_REPLY: Connection._receive_heartbeat_reply,
    FrameType.CLOSE: Connection._receive_close,
}
