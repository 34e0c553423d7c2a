"""The handshake: who the peer is, whether it knows the token, and which session goes on.

::

    initiator                                        responder
    Hello      version, name, nonce, limits    ->
               <-    Challenge  version, name, nonce, limits
    Proof      HMAC, session id, last received ->
               <-    Welcome    HMAC, session id, last received
    Acknowledge                                ->

Both HMACs are keyed by the token and cover everything that was said before, both nonces included.
A recorded handshake is therefore worthless, and so is one that is reflected, because each role has
its own label. The initiator proves itself first: whoever merely connects learns nothing that
depends on the token.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from penstock.links.frames import (
    MAC_BYTES,
    NONCE_BYTES,
    PROTOCOL_VERSION,
    SESSION_ID_BYTES,
    Challenge,
    Hello,
    Introduction,
    Proof,
    Welcome,
    encode_payload,
)
from penstock.links.link_errors import link_error
from penstock.links.message import Message
from penstock.links.options import LinkOptions, check_token
from penstock.links.session import Session
from penstock.links.session_registry import SessionRegistry

__all__ = ["Agreement", "InitiatorHandshake", "Peers", "RandomBytes", "ResponderHandshake"]

RandomBytes = Callable[[int], bytes]
"""Returns the given number of unpredictable bytes, as ``os.urandom``."""

_INITIATOR_LABEL: Final = b"penstock link 1 initiator\0"
_RESPONDER_LABEL: Final = b"penstock link 1 responder\0"

_Introduction = TypeVar("_Introduction", bound=Introduction)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peers:
    """Whom a server accepts, and their sessions."""

    sessions: SessionRegistry
    tokens: Mapping[str, bytes]
    """Token of each peer by its name. A peer of a name that is here has to authenticate itself."""

    accept_unauthenticated: bool = False
    """Whether peers of other names are accepted, as unauthenticated."""

    def __post_init__(self) -> None:
        for token in self.tokens.values():
            check_token(token)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """The result of a handshake."""

    peer: Introduction
    authenticated: bool
    session: Session
    """Its id is empty if the states of both sides do not fit."""

    resumed: bool
    ended: tuple[bytes, tuple[Message, ...]] | None
    """Id and unacknowledged messages of the session that this handshake ended."""

    peer_received: int
    """Last sequence number that the peer has received."""


class _Transcript:
    """Everything that both sides have said so far."""

    def __init__(self, channel_binding: bytes) -> None:
        self._digest = hashlib.sha256()
        self.add(channel_binding)

    def add(self, payload: bytes) -> None:
        # With its length, so that two payloads cannot be divided in another way.
        self._digest.update(len(payload).to_bytes(8, "big"))
        self._digest.update(payload)

    def mac(self, token: bytes, label: bytes, last: Proof | Welcome) -> bytes:
        """HMAC of the transcript and of ``last`` without its own MAC."""
        digest = self._digest.copy()
        digest.update(encode_payload(msgspec.structs.replace(last, mac=b"")))
        return hmac.digest(token, label + digest.digest(), "sha256")


def _introduce(cls: type[_Introduction], options: LinkOptions, nonce: bytes) -> _Introduction:
    limits = options.limits
    return cls(
        version=PROTOCOL_VERSION,
        name=options.name,
        nonce=nonce,
        capabilities=tuple(options.capabilities),
        heartbeat_timeout_ms=options.heartbeat_timeout_ms,
        frame_bytes=limits.frame_bytes,
        header_bytes=limits.header_bytes,
        message_bytes=limits.message_bytes,
        window_messages=limits.window_messages,
        window_bytes=limits.window_bytes,
    )


def _check_version(peer: Introduction) -> None:
    if peer.version != PROTOCOL_VERSION:
        raise link_error(
            "link.version", f"the peer speaks version {peer.version}, this side {PROTOCOL_VERSION}"
        )


class InitiatorHandshake:
    """The initiator's side of one handshake."""

    def __init__(
        self,
        *,
        options: LinkOptions,
        session: Session,
        token: bytes | None,
        random_bytes: RandomBytes,
        channel_binding: bytes,
    ) -> None:
        self._session = session
        self._token = None if token is None else check_token(token)
        self._transcript = _Transcript(channel_binding)
        self._peer: Introduction | None = None
        self.hello = _introduce(Hello, options, random_bytes(NONCE_BYTES))
        self._transcript.add(encode_payload(self.hello))

    def challenge(self, challenge: Challenge, payload: bytes) -> Proof:
        """Checks who answered, and returns the proof."""
        _check_version(challenge)
        if not self._session.peer:
            self._session.peer = challenge.name
        if challenge.name != self._session.peer:
            raise link_error(
                "link.peer-name", f"{challenge.name!r} answered instead of {self._session.peer!r}"
            )
        self._peer = challenge
        self._transcript.add(payload)
        proof = Proof(mac=b"", session_id=self._session.id, received=self._session.received)
        if self._token is not None:
            mac = self._transcript.mac(self._token, _INITIATOR_LABEL, proof)
            proof = msgspec.structs.replace(proof, mac=mac)
        self._transcript.add(encode_payload(proof))
        return proof

    def welcome(self, welcome: Welcome) -> Agreement:
        """Checks the responder's proof, and resumes the session or starts a new one."""
        if self._token is not None:
            expected = self._transcript.mac(self._token, _RESPONDER_LABEL, welcome)
            if not hmac.compare_digest(welcome.mac, expected):
                raise link_error(
                    "link.authentication", f"{self._session.peer!r} does not know the token"
                )
        assert self._peer is not None
        session = self._session
        ended = None
        resumed = session.can_resume(welcome.session_id, welcome.received)
        if welcome.session_id == session.id and not resumed:
            # One side's state is older than what the other remembers. Only the responder starts
            # sessions, so this side forgets the session and connects again without one.
            ended = session.restart(b"")
        elif not resumed:
            if welcome.received:
                raise link_error("link.resume", "the responder counts messages of a new session")
            ended = session.restart(welcome.session_id)
        return Agreement(
            peer=self._peer,
            authenticated=self._token is not None,
            session=session,
            resumed=resumed,
            ended=ended,
            peer_received=welcome.received,
        )


class ResponderHandshake:
    """The responder's side of one handshake."""

    def __init__(
        self,
        *,
        options: LinkOptions,
        peers: Peers,
        random_bytes: RandomBytes,
        channel_binding: bytes,
    ) -> None:
        self._options = options
        self._peers = peers
        self._random_bytes = random_bytes
        self._transcript = _Transcript(channel_binding)
        self._peer: Introduction | None = None
        self._authenticated = False
        self._proof: Proof | None = None
        self._session_id = b""
        """The session that Welcome states."""
        self._number = 0
        """Number of this handshake among those of the session."""

    def hello(self, hello: Hello, payload: bytes) -> Challenge:
        """Checks the peer's version and name, and returns the challenge."""
        _check_version(hello)
        if hello.name == self._options.name:
            raise link_error(
                "link.peer-name", f"the peer has the name of this side: {hello.name!r}"
            )
        self._peer = hello
        self._transcript.add(payload)
        challenge = _introduce(Challenge, self._options, self._random_bytes(NONCE_BYTES))
        self._transcript.add(encode_payload(challenge))
        return challenge

    def proof(self, proof: Proof) -> Welcome:
        """Checks the initiator's proof, and returns the answer.

        The session stays as it is until :meth:`confirm`: the proof may come from a connection that
        the initiator has given up, and that the network delivers after a later one.
        """
        assert self._peer is not None
        token = self._authenticate(self._peer.name, proof)
        self._authenticated = token is not None
        self._proof = proof
        session = self._find_session(proof)
        session.handshakes += 1
        self._number = session.handshakes
        received = 0
        if session.can_resume(proof.session_id, proof.received):
            self._session_id, received = session.id, session.received
        else:
            # An offer is repeated if its connection ended before the confirmation arrived.
            repeated = proof.session_id in session.offered and not proof.received
            self._session_id = (
                proof.session_id if repeated else self._random_bytes(SESSION_ID_BYTES)
            )
            session.offer(self._session_id, self._number)
        self._transcript.add(encode_payload(proof))
        welcome = Welcome(mac=b"", session_id=self._session_id, received=received)
        if token is not None:
            mac = self._transcript.mac(token, _RESPONDER_LABEL, welcome)
            welcome = msgspec.structs.replace(welcome, mac=mac)
        return welcome

    def confirm(self) -> Agreement:
        """Resumes the session, or starts the one that was offered: the initiator has agreed."""
        assert self._peer is not None
        assert self._proof is not None
        session = self._find_session(self._proof)
        if self._number < session.confirmed_handshake:
            # The initiator has given this connection up and confirmed a later one.
            raise link_error("link.superseded", "the session continues on another connection")
        ended = None
        # The number belongs to the session that the initiator proposed.
        proposed = self._proof.session_id == self._session_id
        peer_received = self._proof.received if proposed else 0
        resumed = session.can_resume(self._session_id, peer_received)
        if not resumed:
            if self._session_id not in session.offered:
                raise link_error(
                    "link.resume", "another connection has changed the session since Welcome"
                )
            ended = session.restart(self._session_id)
        session.confirm(self._number)
        return Agreement(
            peer=self._peer,
            authenticated=self._authenticated,
            session=session,
            resumed=resumed,
            ended=ended,
            peer_received=peer_received,
        )

    def _find_session(self, proof: Proof) -> Session:
        assert self._peer is not None
        return self._peers.sessions.find(
            self._peer.name, authenticated=self._authenticated, session_id=proof.session_id
        )

    def _authenticate(self, name: str, proof: Proof) -> bytes | None:
        """Returns the peer's token, or ``None`` if the peer is accepted without one."""
        token = self._peers.tokens.get(name)
        if token is None and self._peers.accept_unauthenticated:
            return None
        # For an unknown name the same work is done with a random key, so that neither the time nor
        # the answer tells which names exist.
        key = self._random_bytes(MAC_BYTES) if token is None else token
        expected = self._transcript.mac(key, _INITIATOR_LABEL, proof)
        if token is None or not hmac.compare_digest(proof.mac, expected):
            raise link_error(
                "link.authentication", f"{name!r} did not prove that it knows its token"
            )
        return token
