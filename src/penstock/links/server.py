"""The server: accepts connections, and gives each peer's link to a handler."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import stat
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Self

from penstock.errors import LinkError
from penstock.links.addresses import Address, TcpAddress, UnixAddress
from penstock.links.connection import Connection
from penstock.links.events import Closed, Established, LinkEvent, SessionReset
from penstock.links.group_token import GroupToken
from penstock.links.handshake import Peers
from penstock.links.link import Link
from penstock.links.options import LinkOptions
from penstock.links.protocol import LinkProtocol
from penstock.links.session import Session, SessionState
from penstock.links.session_registry import SessionRegistry
from penstock.links.tls import ServerTls

__all__ = ["LinkHandler", "Server", "serve"]

_log = logging.getLogger(__name__)

_BACKLOG = 128

LinkHandler = Callable[[Link], Awaitable[None]]
"""Serves a link until it returns; a peer that connects again later gets a new call."""


async def serve(
    address: Address,
    handler: LinkHandler,
    *,
    options: LinkOptions,
    tokens: Mapping[str, bytes] | None = None,
    accept_unauthenticated: bool = False,
    tls: ServerTls | None = None,
    states: Mapping[str, SessionState] | None = None,
    sock: socket.socket | None = None,
) -> Server:
    """Listens for peers, and returns the server.

    Parameters
    ----------
    address
        Where to listen.
    handler
        Coroutine function that serves a peer's link, over all its connections.
    options
        Name, limits and time-outs of this side.
    tokens
        Token of each peer by its name, or a :class:`~penstock.links.GroupToken`.
    accept_unauthenticated
        Whether peers without an entry in ``tokens`` are accepted, as unauthenticated.
    tls
        Certificate and key; without it connections are not encrypted.
    states
        What was stored of authenticated peers' sessions before a restart, by name.
    sock
        A TCP socket that is bound to ``address`` already, for servers whose name contains their
        port.
    """
    if tls is not None:
        options = replace(options, checksum=False)
    peers = Peers(
        sessions=SessionRegistry(
            limits=options.limits,
            states=states,
            bounds_authenticated=isinstance(tokens, GroupToken),
        ),
        tokens=tokens if isinstance(tokens, GroupToken) else dict(tokens or {}),
        accept_unauthenticated=accept_unauthenticated,
    )
    server = Server(handler, options, peers, tls)
    await server._listen(address, sock)
    return server


class Server:
    """A listening server; use it as an asynchronous context manager or close it."""

    def __init__(
        self, handler: LinkHandler, options: LinkOptions, peers: Peers, tls: ServerTls | None
    ) -> None:
        self._handler = handler
        self._options = options
        self._peers = peers
        self._tls = tls
        self._channel_binding = b"" if tls is None else tls.channel_binding()
        self._server: asyncio.Server | None = None
        self._protocols: dict[LinkProtocol, None] = {}
        """Open connections, the oldest first."""
        self._links: dict[Session, Link] = {}
        self._tasks: dict[Link, asyncio.Task[None]] = {}
        self._closing = False
        self.refused: dict[str, int] = {}
        """Connections that ended before they had a link, by error code; ``connections`` counts
        those that were closed because of the limit."""
        self.address: Address = TcpAddress("", 0)
        """Where the server listens, with the port that it got."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def links(self) -> list[Link]:
        """The links that handlers serve."""
        return list(self._links.values())

    async def _listen(self, address: Address, sock: socket.socket | None) -> None:
        loop = asyncio.get_running_loop()
        context = None if self._tls is None else self._tls.context()
        seconds = None if context is None else self._options.handshake_seconds
        shutdown_seconds = None if context is None else self._options.close_seconds
        if isinstance(address, TcpAddress):
            listen = partial(
                loop.create_server,
                self._make_protocol,
                ssl=context,
                backlog=_BACKLOG,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=shutdown_seconds,
            )
            if sock is None:
                self._server = await listen(host=address.host, port=address.port)
            else:
                self._server = await listen(sock=sock)
            self.address = TcpAddress(address.host, self._server.sockets[0].getsockname()[1])
        else:
            self._server = await loop.create_unix_server(
                self._make_protocol,
                sock=_unix_socket(address.path),
                ssl=context,
                backlog=_BACKLOG,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=shutdown_seconds,
            )
            self.address = address

    async def close(self) -> None:
        """Stops listening, closes all links, and waits for their handlers."""
        self._closing = True
        if self._server is not None:
            self._server.close()
        protocols = list(self._protocols)
        for protocol in protocols:
            protocol.close()
        await asyncio.gather(*(protocol.finished.wait() for protocol in protocols))
        await asyncio.gather(*(link.close() for link in self.links))
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        if self._server is not None:
            await self._server.wait_closed()
        if isinstance(self.address, UnixAddress):
            self.address.path.unlink(missing_ok=True)

    def states(self) -> dict[str, SessionState]:
        """What has to be stored of authenticated sessions to resume them after a restart."""
        return {session.peer: session.state() for session in self._peers.sessions.authenticated()}

    # Connections

    def _make_protocol(self) -> LinkProtocol:
        return LinkProtocol(self, self._options)

    def make_connection(
        self, protocol: LinkProtocol, transport: asyncio.BaseTransport, now: float
    ) -> Connection | None:
        """Returns the core of a new connection, or ``None`` if there are too many."""
        del transport  # the channel binding is that of the server's own certificate
        if self._closing:
            # Its TLS handshake has ended only now.
            return None
        if len(self._protocols) >= self._options.limits.connections:
            self._count_refused("connections")
            if not self._make_room():
                return None
        self._protocols[protocol] = None
        return Connection.responder(
            options=self._options,
            peers=self._peers,
            now=now,
            random_bytes=os.urandom,
            channel_binding=self._channel_binding,
        )

    def _make_room(self) -> bool:
        """Ends the oldest connection in a handshake: whoever opens many and says nothing keeps out
        nobody whose handshake takes only its round trips."""
        for protocol in self._protocols:
            if protocol.connection is None or protocol.connection.session is None:
                del self._protocols[protocol]
                protocol.abort()
                return True
        return False

    def _count_refused(self, code: str) -> None:
        self.refused[code] = self.refused.get(code, 0) + 1

    def deliver(self, protocol: LinkProtocol, events: list[LinkEvent]) -> None:
        """Gives events to the link of the connection's session."""
        assert protocol.connection is not None
        session = protocol.connection.session
        begins = any(isinstance(event, Established | SessionReset) for event in events)
        if begins and session is not None and session not in self._links:
            self._open_link(session)
        if session is not None and session in self._links:
            self._links[session].deliver(protocol, events)
            return
        for event in events:
            if isinstance(event, Closed) and event.error is not None:
                self._count_refused(event.error.code)

    def ended(self, protocol: LinkProtocol) -> None:
        """A transport is gone."""
        self._protocols.pop(protocol, None)
        session = None if protocol.connection is None else protocol.connection.session
        if session is not None and session in self._links:
            self._links[session].ended(protocol)

    def _open_link(self, session: Session) -> None:
        # The registry may have removed another session to make room for this one.
        for removed in set(self._links).difference(self._peers.sessions):
            self._tasks[self._links[removed]].cancel()
        link = self._links[session] = Link(session=session, options=self._options)
        self._tasks[link] = asyncio.create_task(self._serve(link))

    async def _serve(self, link: Link) -> None:
        try:
            await self._handler(link)
        except LinkError as problem:
            if problem.code != "link.closed":
                _log.exception("the handler of %s failed", link.peer)
        except Exception:
            # One peer's handler must not end the server; the peer's messages are not acknowledged.
            _log.exception("the handler of %s failed", link.peer)
        finally:
            with contextlib.suppress(asyncio.CancelledError):
                await link.close()
            self._links.pop(link.session, None)
            self._tasks.pop(link, None)


def _unix_socket(path: Path) -> socket.socket:
    """A socket in the file system that only its owner can connect to."""
    with contextlib.suppress(FileNotFoundError):
        # Left by a process that was killed.
        if stat.S_ISSOCK(path.stat().st_mode):
            path.unlink()
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(str(path))
        # Before it listens, so nobody else can connect in between.
        path.chmod(0o600)
    except BaseException:
        sock.close()
        raise
    return sock
