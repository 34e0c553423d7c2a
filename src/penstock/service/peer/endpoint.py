"""Where a process of the overlay listens, and the name that follows from it."""

from __future__ import annotations

import socket
from collections.abc import Awaitable, Callable

from penstock.errors import error
from penstock.links import Address, GroupToken, Link, Server, TcpAddress, serve
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.peer_names import address_of, peer_name


class Endpoint:
    """The server of a peer or of an agent. Its name contains the port, so that is bound first.

    Parameters
    ----------
    options
        Address, token, TLS.
    """

    def __init__(self, options: PeerServiceOptions) -> None:
        self._options = options
        self._listen = options.listen
        self._server: Server | None = None
        self._sock: socket.socket | None = None
        if isinstance(self._listen, TcpAddress):
            self._sock = _bound_socket(self._listen)
            self._listen = TcpAddress(self._listen.host, self._sock.getsockname()[1])
        self.name = peer_name(options.label, self._advertised())
        address_of(self.name)
        self.link_options = options.link_options(self.name)

    @property
    def address(self) -> Address:
        """Where the process listens."""
        assert self._server is not None
        return self._server.address

    async def serve(self, serve_link: Callable[[Link], Awaitable[None]]) -> None:
        """Listen for links of others."""
        token = self._options.token
        self._server = await serve(
            self._listen,
            serve_link,
            options=self.link_options,
            tokens=None if token is None else GroupToken(token),
            accept_unauthenticated=token is None,
            tls=self._options.server_tls,
            sock=self._sock,
        )

    async def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            await self._server.close()

    def _advertised(self) -> Address:
        listen, advertised = self._listen, self._options.advertise
        if advertised is None:
            return listen
        is_any_port = isinstance(advertised, TcpAddress) and advertised.port == 0
        if is_any_port and isinstance(listen, TcpAddress) and isinstance(advertised, TcpAddress):
            return TcpAddress(advertised.host, listen.port)
        return advertised


def _bound_socket(address: TcpAddress) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((address.host, address.port))
    except OSError as problem:
        sock.close()
        raise error("overlay.listen", f"{address}: {problem.strerror}") from None
    return sock
