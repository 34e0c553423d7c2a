"""Two cores joined without faults, and frames to feed to one of them."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.links import (
    Connection,
    LinkEvent,
    LinkOptions,
    Peers,
    Session,
    SessionRegistry,
    SessionState,
)
from penstock.links.frame_decoder import FrameDecoder
from penstock.links.frames import Frame
from support.links.fake_link import TOKEN

NOW = 1_000.0


@dataclass
class Joined:
    """An initiator and a responder; bytes are carried on request."""

    initiator_options: LinkOptions = field(default_factory=lambda: LinkOptions(name="initiator"))
    responder_options: LinkOptions = field(default_factory=lambda: LinkOptions(name="responder"))
    token: bytes | None = TOKEN
    tokens: Mapping[str, bytes] = field(default_factory=lambda: {"initiator": TOKEN})
    accept_unauthenticated: bool = False
    state: SessionState | None = None
    seed: int = 1
    now: float = NOW
    bindings: tuple[bytes, bytes] = (b"", b"")

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.session = Session(
            peer="responder", limits=self.initiator_options.limits, state=self.state
        )
        self.peers = Peers(
            sessions=SessionRegistry(limits=self.responder_options.limits),
            tokens=self.tokens,
            accept_unauthenticated=self.accept_unauthenticated,
        )
        self.events: dict[str, list[LinkEvent]] = {"initiator": [], "responder": []}
        self.connect()

    def connect(self) -> None:
        """Makes a new connection for the same session."""
        self.initiator = Connection.initiator(
            options=self.initiator_options,
            session=self.session,
            token=self.token,
            now=self.now,
            random_bytes=self.random.randbytes,
            channel_binding=self.bindings[0],
        )
        self.responder = Connection.responder(
            options=self.responder_options,
            peers=self.peers,
            now=self.now,
            random_bytes=self.random.randbytes,
            channel_binding=self.bindings[1],
        )

    @property
    def responder_session(self) -> Session:
        session = self.responder.session
        assert session is not None
        return session

    def carry(self, *, bytes_max: int = 1 << 20) -> None:
        """Carries bytes to and fro until nobody has anything to send, and collects the events."""
        while True:
            forth = b"".join(self.initiator.data_to_send(self.now, bytes_max))
            self.responder.receive_data(forth, self.now)
            back = b"".join(self.responder.data_to_send(self.now, bytes_max))
            self.initiator.receive_data(back, self.now)
            if not forth and not back:
                break
        self.events["initiator"] += self.initiator.events()
        self.events["responder"] += self.responder.events()

    def cut(self) -> None:
        """The connection is lost, and both sides notice."""
        self.initiator.connection_lost()
        self.responder.connection_lost()
        self.events["initiator"] += self.initiator.events()
        self.events["responder"] += self.responder.events()

    def pass_time(self, seconds: float, *, step: float = 0.5) -> None:
        """Lets time pass, with ticks and traffic."""
        end = self.now + seconds
        while self.now < end:
            self.now += step
            self.initiator.tick(self.now)
            self.responder.tick(self.now)
            self.carry()


def frames_in(data: bytes, options: LinkOptions) -> list[Frame]:
    """The frames of what one side sends, from the preamble on."""
    decoder = FrameDecoder(options.limits)
    decoder.feed(data)
    found = list[Frame]()
    while (frame := decoder.next_frame()) is not None:
        if not found:
            decoder.allow_messages()
        found.append(frame)
    return found
