"""The asyncio protocol: moves bytes between a transport and a :class:`Connection`."""

from __future__ import annotations

import asyncio
import socket
from typing import Protocol, cast

from penstock.links.connection import Connection
from penstock.links.events import LinkEvent
from penstock.links.limits import INPUT_BYTES, OUTPUT_BYTES
from penstock.links.options import LinkOptions
from penstock.links.transitions import State

__all__ = ["LinkProtocol", "ProtocolOwner"]


class ProtocolOwner(Protocol):
    """Who makes the core of a connection and gets its events."""

    def make_connection(
        self, protocol: LinkProtocol, transport: asyncio.BaseTransport, now: float
    ) -> Connection | None:
        """Returns the core of a new connection, or ``None`` if there are too many."""

    def deliver(self, protocol: LinkProtocol, events: list[LinkEvent]) -> None:
        """Takes the events of a connection."""

    def ended(self, protocol: LinkProtocol) -> None:
        """The transport is gone."""


class LinkProtocol(asyncio.BufferedProtocol):
    """One connection on a transport.

    The reader never pauses: the receive window bounds what the peer may send, and whatever arrives
    may be a heartbeat or an acknowledgement. Payload is taken from the core only while little waits
    in the transport, so that a heartbeat is never behind more than that.
    """

    def __init__(
        self,
        owner: ProtocolOwner,
        options: LinkOptions,
    ) -> None:
        self._owner = owner
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._input = memoryview(b"")
        self._paused = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._wake_handle: asyncio.Handle | None = None
        self._abort_handle: asyncio.TimerHandle | None = None
        self.finished = asyncio.Event()
        """Set when the transport is gone."""
        self.connection: Connection | None = None

    # Called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Starts the handshake."""
        # The transports of uvloop have the interface without being subclasses.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=OUTPUT_BYTES)
        _set_socket_options(transport.get_extra_info("socket"))
        self.connection = self._owner.make_connection(self, transport, self._loop.time())
        # Only now: a peer that has not finished the TLS handshake must not cost a buffer.
        self._input = memoryview(bytearray(INPUT_BYTES))
        if self.connection is None:
            self._transport.abort()
        else:
            self.settle()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Returns where to put received bytes: always the same buffer, which the core empties."""
        del sizehint
        return self._input

    def buffer_updated(self, nbytes: int) -> None:
        """Passes bytes to the core."""
        if self.connection is None:
            return
        self.connection.receive_data(self._input[:nbytes], self._loop.time())
        self.settle()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tells the core that the transport is gone."""
        self._transport = None
        if self.connection is not None:
            self.connection.connection_lost(str(exc) if exc is not None else "")
            self.settle()
        for handle in (self._timer, self._wake_handle, self._abort_handle):
            if handle is not None:
                handle.cancel()
        self.finished.set()
        self._owner.ended(self)

    def pause_writing(self) -> None:
        """Stops taking payload from the core."""
        self._paused = True

    def resume_writing(self) -> None:
        """Takes payload again."""
        self._paused = False
        self.settle()

    # Called by the owner

    def wake(self) -> None:
        """Has the core asked for data soon: once, however often this is called before."""
        if self._wake_handle is None and self._transport is not None:
            self._wake_handle = self._loop.call_soon(self._woken)

    def close(self) -> None:
        """Closes the connection gracefully."""
        if self.connection is not None:
            self.connection.close(self._loop.time())
            self.settle()

    def abort(self) -> None:
        """Ends the transport at once."""
        if self._transport is not None:
            self._transport.abort()

    def _woken(self) -> None:
        self._wake_handle = None
        self.settle()

    def _ticked(self) -> None:
        self._timer = None
        assert self.connection is not None
        self.connection.tick(self._loop.time())
        self.settle()

    def settle(self) -> None:
        """Delivers events, writes what is to be sent, and sets the timer."""
        connection = self.connection
        assert connection is not None
        events = connection.events()
        if events:
            self._owner.deliver(self, events)
        if self._transport is None:
            return
        self._write(connection)
        if connection.state is State.CLOSED:
            self._end()
        else:
            self._set_timer(connection)

    def _write(self, connection: Connection) -> None:
        assert self._transport is not None
        # The last control frames of a connection are written even to a transport that is full.
        while not self._paused or connection.state is State.CLOSED:
            data = connection.data_to_send(self._loop.time(), OUTPUT_BYTES)
            if not data:
                return
            self._transport.writelines(data)

    def _end(self) -> None:
        """Lets the transport write what it has, for a limited time."""
        if self._abort_handle is None and self._transport is not None:
            self._transport.close()
            self._abort_handle = self._loop.call_later(self._options.close_seconds, self.abort)

    def _set_timer(self, connection: Connection) -> None:
        deadline = connection.deadline
        assert deadline is not None
        if self._timer is not None:
            # A timer that is early costs one tick; setting one for each frame costs more.
            if self._timer_at <= deadline:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(deadline, self._ticked)
        self._timer_at = deadline


def _set_socket_options(sock: socket.socket | None) -> None:
    """Keeps payload out of the kernel's buffers, where heartbeats would queue behind it."""
    if sock is None or sock.family not in {socket.AF_INET, socket.AF_INET6}:
        return
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if hasattr(socket, "TCP_NOTSENT_LOWAT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, OUTPUT_BYTES)
