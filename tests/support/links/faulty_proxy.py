"""A TCP proxy that cuts connections at a byte, stops forwarding, or forwards slowly."""

from __future__ import annotations

import asyncio
import contextlib
import random
import socket
from dataclasses import dataclass, field
from typing import Self

from penstock.links import TcpAddress


@dataclass
class FaultyProxy:
    """Forwards connections to ``target``, with faults that can be changed at any time."""

    target: TcpAddress
    random: random.Random = field(default_factory=lambda: random.Random(1))
    cut_after_bytes: int = 0
    """A connection is cut after up to so many bytes; 0 for never."""
    silent: bool = False
    """Whether bytes are swallowed, so that connections are half-open."""
    bytes_per_second: int = 0
    """Speed of each direction; 0 for unlimited."""
    connections: int = 0
    cuts: int = 0

    async def __aenter__(self) -> Self:
        sock = socket.socket()
        # The network between the sides should not buffer more than they do.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        sock.bind(("127.0.0.1", 0))
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = await asyncio.start_server(self._accept, sock=sock, limit=1 << 16)
        self.address = TcpAddress("127.0.0.1", sock.getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    def cut_all(self) -> None:
        """Ends all connections."""
        for task in list(self._tasks):
            task.cancel()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        writers = [writer]
        try:
            with contextlib.suppress(OSError, asyncio.CancelledError):
                out = socket.socket()
                out.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                out.setblocking(False)
                target = (self.target.host, self.target.port)
                try:
                    await asyncio.get_running_loop().sock_connect(out, target)
                    other_reader, other_writer = await asyncio.open_connection(
                        sock=out, limit=1 << 16
                    )
                except BaseException:
                    out.close()
                    raise
                writers.append(other_writer)
                forward = asyncio.create_task(self._forward(reader, other_writer))
                back = asyncio.create_task(self._forward(other_reader, writer))
                try:
                    await asyncio.wait({forward, back}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    forward.cancel()
                    back.cancel()
                    await asyncio.gather(forward, back, return_exceptions=True)
        finally:
            for each in writers:
                # At once, whatever is under way.
                each.transport.abort()
            self._tasks.discard(task)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        left = self.random.randint(1, self.cut_after_bytes) if self.cut_after_bytes else None
        while data := await reader.read(1 << 14):
            if self.silent:
                continue
            if left is not None:
                data, left = data[:left], left - len(data)
            writer.write(data)
            await writer.drain()
            if self.bytes_per_second:
                await asyncio.sleep(len(data) / self.bytes_per_second)
            if left is not None and left <= 0:
                self.cuts += 1
                # Lets the other side read the part of a frame before the connection ends.
                await asyncio.sleep(0)
                return
