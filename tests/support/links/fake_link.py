"""A simulated network with two nodes, whose faults are plain options; everything from one seed."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from penstock.links import (
    Acknowledged,
    Closed,
    Connection,
    Established,
    LinkEvent,
    LinkLimits,
    LinkOptions,
    Message,
    MessageReceived,
    Peers,
    Session,
    SessionRegistry,
    SessionReset,
    SessionState,
)
from penstock.links.frames import PREAMBLE, PREFIX, FrameType, decode_message_start
from penstock.links.transitions import State

TOKEN = b"a token of the tests, 32 bytes.."
SMALL = LinkLimits(
    frame_bytes=64,
    chunk_bytes=16,
    header_bytes=32,
    message_bytes=400,
    window_messages=5,
    window_bytes=500,
)
"""Limits at which windows fill and bodies are cut all the time."""


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Probabilities in each step, and what the network does to bytes."""

    cut: float = 0.0
    """The connection is cut, at any byte of what is under way; both sides notice."""
    half_open: float = 0.0
    """The same, and only the initiator notices; what was under way may arrive any time later."""
    lose_frame: float = 0.0
    """A frame is lost, and the connection goes on: a faulty intermediary."""
    duplicate_frame: float = 0.0
    """A frame arrives twice."""
    duplicate_message: float = 0.0
    """All frames of a message arrive twice."""
    restart_with_state: float = 0.0
    """A process is killed and starts again from its disk."""
    restart_without_state: float = 0.0
    """A process is killed and its disk is empty."""
    slow: float = 0.0
    """The application stores nothing in this step."""
    unread: float = 0.0
    """The application reads no events in this step; those that it has not read die with it."""
    slice_bytes: int = 1_000
    """Bytes that arrive at a time, at most."""
    delay: float = 0.0
    """What is under way does not arrive in this step."""


@dataclass
class Disk:
    """What survives a kill: the session's numbers, outbox, and what to send after a reset."""

    session_id: bytes = b""
    acknowledged: int = 0
    outbox: dict[int, Message] = field(default_factory=dict)
    stored: int = 0
    again: deque[Message] = field(default_factory=deque)

    def state(self) -> SessionState:
        kept = [message for number, message in sorted(self.outbox.items())]
        return SessionState(
            session_id=self.session_id,
            acknowledged=self.acknowledged,
            unacknowledged=tuple(kept),
            stored=self.stored,
        )

    def forget_session(self) -> None:
        self.session_id = b""
        self.acknowledged = self.stored = 0
        self.outbox = {}


class Pipe:
    """Bytes under way in one direction, cut into frames where frames are lost or repeated."""

    def __init__(self, faults: Faults, rng: random.Random) -> None:
        self._faults = faults
        self._rng = rng
        self._unsplit = bytearray()
        self._begun = False
        self._message = bytearray()
        """The frames of the message that is being written."""
        self._body_bytes = 0
        self.under_way = bytearray()

    def write(self, data: bytes) -> None:
        self._unsplit += data
        if not self._begun and len(self._unsplit) >= len(PREAMBLE):
            self._begun = True
            self._pass_on(len(PREAMBLE), 1)
        while self._begun and len(self._unsplit) >= PREFIX.size:
            length, type_ = PREFIX.unpack_from(self._unsplit)
            if len(self._unsplit) < PREFIX.size + length:
                return
            times = 1
            if self._rng.random() < self._faults.lose_frame:
                times = 0
            elif self._rng.random() < self._faults.duplicate_frame:
                times = 2
            frame = bytes(self._unsplit[: PREFIX.size + length])
            self._pass_on(PREFIX.size + length, times)
            self._repeat_message(type_, frame)

    def _repeat_message(self, type_: int, frame: bytes) -> None:
        if type_ == FrameType.MESSAGE:
            self._message.clear()
            self._body_bytes = decode_message_start(frame[PREFIX.size :]).body_bytes
        elif type_ == FrameType.BODY:
            self._body_bytes -= len(frame) - PREFIX.size
        else:
            return
        self._message += frame
        if not self._body_bytes and self._rng.random() < self._faults.duplicate_message:
            self.under_way += self._message

    def _pass_on(self, count: int, times: int) -> None:
        self.under_way += bytes(self._unsplit[:count]) * times
        del self._unsplit[:count]

    def read(self) -> bytes:
        count = self._rng.randint(1, self._faults.slice_bytes)
        data = bytes(self.under_way[:count])
        del self.under_way[:count]
        return data

    def cut(self) -> None:
        """Only a prefix of what is under way still arrives."""
        del self.under_way[self._rng.randint(0, len(self.under_way)) :]


class Node:
    """A process with an application that sends numbered messages and checks what it receives."""

    def __init__(self, name: str, peer: str, limits: LinkLimits, rng: random.Random) -> None:
        self.name = name
        self.peer = peer
        self.rng = rng
        self.disk = Disk()
        self.options = LinkOptions(name=name, limits=limits, heartbeat_timeout_seconds=6.0)
        self.session: Session
        self.registry: SessionRegistry
        self.connections: list[Connection] = []
        """The current one last; before it, half-open ones that do not know it yet."""
        self.made = 0
        self.sent: list[bytes] = []
        """Contents in the order in which the application first sent them."""
        self.forfeited: set[bytes] = set()
        """Contents that were lost with this node's own state."""
        self.stored: list[tuple[bytes, int, bytes]] = []
        """Session id, sequence number and content of all messages that the application stored."""
        self.unread: deque[LinkEvent] = deque()
        """Events that the application has not read."""
        self.waiting: deque[MessageReceived] = deque()
        """Messages that the application has read and not stored."""
        self.resets: list[bytes] = []
        """Ids of the sessions that ended."""
        self.errors: list[str] = []
        self.restart(with_state=True)

    def restart(self, *, with_state: bool) -> None:
        if not with_state:
            lost = [*self.disk.outbox.values(), *self.disk.again]
            self.forfeited.update(message.body for message in lost)
            self.disk = Disk()
        state = self.disk.state()
        self.session = Session(peer=self.peer, limits=self.options.limits, state=state)
        self.registry = SessionRegistry(limits=self.options.limits, states={self.peer: state})
        self.connections = []
        self.unread.clear()
        self.waiting.clear()

    def random_bytes(self, count: int) -> bytes:
        return self.rng.randbytes(count)

    @property
    def streams(self) -> Session:
        """The session, in whichever place this role has it."""
        return next(iter(self.registry)) if self.name == "responder" else self.session

    def connect(self, now: float) -> None:
        if self.name == "responder":
            peers = Peers(sessions=self.registry, tokens={self.peer: TOKEN})
            made = Connection.responder(
                options=self.options, peers=peers, now=now, random_bytes=self.random_bytes
            )
        else:
            made = Connection.initiator(
                options=self.options,
                session=self.session,
                token=TOKEN,
                now=now,
                random_bytes=self.random_bytes,
            )
        self.connections.append(made)

    def take_events(self) -> None:
        for connection in self.connections:
            self.unread += connection.events()
        self.connections = [
            each for each in self.connections if not each.closed or each is self.connections[-1]
        ]

    def read_events(self) -> None:
        while self.unread:
            self._handle(self.unread.popleft())

    def _handle(self, event: LinkEvent) -> None:
        match event:
            case Established():
                assert event.authenticated
                assert event.peer == self.peer
                # A message that was sent since has stored the id already.
                known = {event.session_id} if event.resumed else {event.session_id, b""}
                assert self.disk.session_id in known
                self.disk.session_id = event.session_id
            case SessionReset():
                self.resets.append(event.session_id)
                self.waiting.clear()
                # What this side did not know to be acknowledged, it sends again.
                self.disk.again.extendleft(reversed(event.unacknowledged))
                self.disk.forget_session()
            case MessageReceived():
                last = self.waiting[-1].sequence if self.waiting else self.disk.stored
                assert event.session_id == self.disk.session_id
                assert event.sequence == last + 1
                self.waiting.append(event)
            case Acknowledged():
                # Written now and then: an older number than the last is harmless.
                if self.rng.random() < 0.7:
                    self.disk.acknowledged = event.sequence
                    kept = {n: m for n, m in self.disk.outbox.items() if n > event.sequence}
                    self.disk.outbox = kept
            case Closed():
                if event.error is not None:
                    self.errors.append(event.error.code)

    def send(self) -> None:
        """The application sends what a reset returned, or a new message."""
        if not self.streams.id or any(isinstance(each, SessionReset) for each in self.unread):
            # `Link.send` waits.
            return
        if self.disk.again:
            message = self.disk.again[0]
        else:
            size = self.rng.choice([0, 1, 15, 16, 17, 40, 300])
            body = f"{self.name} {self.made:05} ".encode() + b"x" * size
            message = Message(header=b"h" * self.rng.randint(0, 32), body=body)
        if not self.streams.has_room(message):
            return
        if self.disk.again:
            self.disk.again.popleft()
        else:
            self.made += 1
            self.sent.append(message.body)
        # Stored before it can leave, together with the id, as `Link.send` does it.
        assert self.disk.session_id in {self.streams.id, b""}
        self.disk.session_id = self.streams.id
        self.disk.outbox[self.streams.sent + 1] = message
        self.streams.enqueue(message)

    def store(self) -> None:
        """The application stores the next message, and acknowledges it now or later."""
        if not self.waiting:
            return
        event = self.waiting.popleft()
        self.disk.stored = event.sequence
        self.stored.append((event.session_id, event.sequence, event.message.body))
        if self.rng.random() < 0.8 or not self.waiting:
            self.streams.acknowledge(event.session_id, event.sequence)


class Network:
    """Two nodes and at most one connection between them."""

    def __init__(self, seed: int, faults: Faults, limits: LinkLimits = SMALL) -> None:
        self.rng = random.Random(seed)
        self.faults = faults
        self.now = 100.0
        self.initiator = Node("initiator", "responder", limits, self.rng)
        self.responder = Node("responder", "initiator", limits, self.rng)
        self.nodes = (self.initiator, self.responder)
        self.pipes: dict[str, Pipe] = {}
        """By the name of the sender; empty without a connection."""
        self.late: list[tuple[Connection, bytes]] = []
        """What the initiator sent on connections that it has given up, and has not arrived."""

    def step(self, *, sends: bool = True) -> None:
        self.now += self.rng.choice([0.0, 0.01, 0.1, 0.5])
        self._fail()
        if not self.pipes:
            self._connect()
        self._arrive_late()
        for node in self.nodes:
            if sends and self.rng.random() < 0.5:
                node.send()
            self._transfer(node)
            if self.rng.random() >= self.faults.slow:
                node.store()
            for connection in node.connections:
                connection.tick(self.now)
            node.take_events()
            if self.rng.random() >= self.faults.unread:
                node.read_events()
        if any(not node.connections or node.connections[-1].closed for node in self.nodes):
            self._end(half_open=False)

    def _arrive_late(self) -> None:
        if not self.late or self.rng.random() >= 0.3:
            return
        connection, data = self.late.pop(self.rng.randrange(len(self.late)))
        if connection in self.responder.connections:
            count = self.rng.randint(1, len(data))
            connection.receive_data(data[:count], self.now)
            self.responder.take_events()
            if data[count:]:
                self.late.append((connection, data[count:]))

    def _connect(self) -> None:
        for node in self.nodes:
            node.connect(self.now)
            self.pipes[node.name] = Pipe(self.faults, self.rng)

    def _transfer(self, node: Node) -> None:
        pipe = self.pipes.get(node.name)
        receiver = self.responder if node is self.initiator else self.initiator
        if pipe is None or not receiver.connections:
            return
        data = node.connections[-1].data_to_send(self.now, 40)
        pipe.write(b"".join(data))
        if self.rng.random() >= self.faults.delay:
            while pipe.under_way:
                receiver.connections[-1].receive_data(pipe.read(), self.now)
            receiver.take_events()

    def _fail(self) -> None:
        faults = self.faults
        if self.rng.random() < faults.cut:
            self._end(half_open=False)
        if self.rng.random() < faults.half_open:
            self._end(half_open=True)
        for node in self.nodes:
            with_state = self.rng.random() < faults.restart_with_state
            if with_state or self.rng.random() < faults.restart_without_state:
                self._end(half_open=False)
                node.restart(with_state=with_state)

    def _end(self, *, half_open: bool) -> None:
        """Ends the connection; what is under way arrives up to some byte."""
        if not self.pipes:
            return
        for node, receiver in (self.nodes, self.nodes[::-1]):
            if receiver.connections and node.connections:
                data = node.connections[-1].data_to_send(self.now, 40)
                pipe = self.pipes[node.name]
                pipe.write(b"".join(data))
                pipe.cut()
                if half_open and node is self.initiator and pipe.under_way:
                    self.late.append((receiver.connections[-1], bytes(pipe.under_way)))
                else:
                    receiver.connections[-1].receive_data(bytes(pipe.under_way), self.now)
        self.pipes = {}
        for node in self.nodes:
            if node is self.initiator or not half_open:
                # Not of those before: they are half-open, and what was sent there may still arrive.
                for connection in node.connections[-1:]:
                    connection.connection_lost()
            node.take_events()

    def heal(self, steps: int = 3_000) -> None:
        """Stops all faults, and runs until everything has arrived."""
        self.faults = Faults(slice_bytes=self.faults.slice_bytes)
        self._end(half_open=False)
        for _ in range(steps):
            self.step(sends=any(node.disk.again for node in self.nodes))
            if self.quiet:
                return
        raise AssertionError("the nodes do not come to rest")

    @property
    def quiet(self) -> bool:
        return all(
            not node.disk.again
            and not node.waiting
            and not node.unread
            and node.streams.sent == node.streams.acknowledged
            and bool(node.connections)
            and node.connections[-1].state is State.ESTABLISHED
            for node in self.nodes
        )

    def check(self) -> None:
        """Within a session each message is stored exactly once and in order; none is missing."""
        for node in self.nodes:
            sender = self.responder if node is self.initiator else self.initiator
            numbers: dict[bytes, int] = {}
            for session_id, sequence, _ in node.stored:
                assert sequence == numbers.get(session_id, 0) + 1
                numbers[session_id] = sequence
            contents = [content for _, _, content in node.stored]
            if not node.resets and not sender.resets and len(numbers) <= 1:
                # A sender can lose messages with its state before the first session begins.
                lost = sender.forfeited.difference(contents)
                kept = [content for content in sender.sent if content not in lost]
                assert contents == kept[: len(contents)]
            assert set(contents) <= set(sender.sent)

    def check_complete(self) -> None:
        """Every message was stored, unless its sender lost it together with its own state."""
        for node in self.nodes:
            sender = self.responder if node is self.initiator else self.initiator
            contents = {content for _, _, content in node.stored}
            assert set(sender.sent) - contents <= sender.forfeited
