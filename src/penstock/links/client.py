"""The client: connects to a server, and connects again whenever the connection ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from dataclasses import replace

from penstock.links.addresses import Address, TcpAddress, UnixAddress
from penstock.links.back_off import BackOff
from penstock.links.connection import Connection
from penstock.links.events import Closed
from penstock.links.link import Link
from penstock.links.link_errors import link_error
from penstock.links.options import LinkOptions, check_token
from penstock.links.protocol import LinkProtocol
from penstock.links.session import Session, SessionState
from penstock.links.tls import ClientTls, client_channel_binding

__all__ = ["connect"]


async def connect(
    address: Address,
    *,
    peer: str,
    options: LinkOptions,
    token: bytes | None = None,
    tls: ClientTls | None = None,
    state: SessionState | None = None,
    back_off: BackOff | None = None,
) -> Link:
    """Returns a link to a server; it connects in the background, again and again until closed.

    Every attempt that fails gives an event :class:`~penstock.links.Closed` with the reason.

    Parameters
    ----------
    address
        Where the server listens.
    peer
        Name of the server; another one is refused. If it is empty, any name is accepted, and the
        link has it from the first handshake on.
    options
        Name, limits and time-outs of this side.
    token
        The secret that both sides know; without it the link is not authenticated.
    tls
        Whom to trust; without it the connection is not encrypted.
    state
        What was stored of the session before a restart.
    back_off
        How long to wait between attempts; by default with a random seed.
    """
    if token is not None:
        check_token(token)
    if tls is not None:
        if isinstance(address, UnixAddress) and tls.server_hostname is None:
            raise link_error("link.option", "TLS over a Unix socket needs `server_hostname`")
        options = replace(options, checksum=False)
    session = Session(peer=peer, limits=options.limits, state=state)
    back_off = back_off or BackOff(random.Random(os.urandom(16)))
    return _ClientLink(
        address=address,
        session=session,
        options=options,
        token=token,
        tls=tls,
        back_off=back_off,
    )


class _ClientLink(Link):
    """A link with the task that keeps it connected."""

    def __init__(
        self,
        *,
        address: Address,
        session: Session,
        options: LinkOptions,
        token: bytes | None,
        tls: ClientTls | None,
        back_off: BackOff,
    ) -> None:
        super().__init__(session=session, options=options)
        self._address = address
        self._token = token
        self._tls = tls
        self._context = None if tls is None else tls.context()
        self._back_off = back_off
        self._task = asyncio.create_task(self._keep_connected())

    async def close(self) -> None:
        """Closes the connection, and stops connecting."""
        await super().close()
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task

    async def _keep_connected(self) -> None:
        loop = asyncio.get_running_loop()
        while not self._closed:
            try:
                async with asyncio.timeout(self._options.handshake_seconds):
                    protocol = await self._open()
            # TimeoutError and SSLError are OSErrors, too. The others are about a host that cannot
            # be encoded as a domain name, and a port out of range.
            except (OSError, UnicodeError, OverflowError) as problem:
                reason = str(problem) or type(problem).__name__
                self._fail(f"{self._address}: {reason}")
            else:
                opened_at = loop.time()
                try:
                    await protocol.finished.wait()
                except asyncio.CancelledError:
                    protocol.abort()
                    await protocol.finished.wait()
                    raise
                # A connection that is refused at once must not reset the waiting time.
                if loop.time() - opened_at > self._options.heartbeat_seconds:
                    self._back_off.reset()
            await asyncio.sleep(self._back_off.next_seconds())

    def _fail(self, reason: str) -> None:
        self._deliver(Closed(error=link_error("link.unreachable", reason)))
        self._notify()

    async def _open(self) -> LinkProtocol:
        loop = asyncio.get_running_loop()

        def make_protocol() -> LinkProtocol:
            return LinkProtocol(self, self._options)

        hostname = None
        seconds = None
        if self._tls is not None:
            host = self._address.host if isinstance(self._address, TcpAddress) else None
            hostname = self._tls.server_hostname or host
            seconds = self._options.handshake_seconds
        shutdown_seconds = None if seconds is None else self._options.close_seconds
        if isinstance(self._address, TcpAddress):
            _, protocol = await loop.create_connection(
                make_protocol,
                self._address.host,
                self._address.port,
                ssl=self._context,
                server_hostname=hostname,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=shutdown_seconds,
            )
        else:
            _, protocol = await loop.create_unix_connection(
                make_protocol,
                str(self._address.path),
                ssl=self._context,
                server_hostname=hostname,
                ssl_handshake_timeout=seconds,
                ssl_shutdown_timeout=shutdown_seconds,
            )
        return protocol

    def make_connection(
        self, protocol: LinkProtocol, transport: asyncio.BaseTransport, now: float
    ) -> Connection:
        """Returns the core of a new connection."""
        del protocol  # known from its first event on
        return Connection.initiator(
            options=self._options,
            session=self._session,
            token=self._token,
            now=now,
            random_bytes=os.urandom,
            channel_binding=client_channel_binding(transport.get_extra_info("ssl_object")),
        )
