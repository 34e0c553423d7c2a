"""Metrics in the text format of Prometheus, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from typing import Final

from penstock.links import TcpAddress
from penstock.service.router.limits import (
    METRICS_CONNECTIONS_MAX,
    METRICS_REQUEST_BYTES_MAX,
    METRICS_REQUEST_SECONDS,
)

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def metric_head(metric: str, text: str, kind: str) -> Iterator[str]:
    """The lines that describe a metric."""
    yield f"# HELP {metric} {text}"
    yield f"# TYPE {metric} {kind}"


def escape(label: str) -> str:
    """The value of a label.

    >>> escape('a"b')
    'a\\\\"b'
    """
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """A minimal HTTP server: it answers ``GET /metrics``, one request a connection."""

    def __init__(self, text: Callable[[], Awaitable[str]]) -> None:
        self._text = text
        self._connections = 0
        self._server: asyncio.Server | None = None
        self.address = TcpAddress("", 0)

    async def start(self, address: TcpAddress) -> None:
        """Listens."""
        self._server = await asyncio.start_server(
            self._serve, address.host, address.port, limit=METRICS_REQUEST_BYTES_MAX
        )
        port = self._server.sockets[0].getsockname()[1]
        self.address = TcpAddress(address.host, port)

    async def close(self) -> None:
        """Stops listening."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections > METRICS_CONNECTIONS_MAX:
                return
            with contextlib.suppress(
                OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError
            ):
                async with asyncio.timeout(METRICS_REQUEST_SECONDS):
                    request = await reader.readuntil(b"\r\n\r\n")
                    writer.write(await self._answer(request))
                    await writer.drain()
        finally:
            self._connections -= 1
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _answer(self, request: bytes) -> bytes:
        method, _, rest = request.partition(b" ")
        path = rest.partition(b" ")[0].partition(b"?")[0]
        if method not in (b"GET", b"HEAD"):
            return _response("405 Method Not Allowed", "only GET is answered\n")
        if path != b"/metrics":
            return _response("404 Not Found", "see /metrics\n")
        answer = _response("200 OK", await self._text(), CONTENT_TYPE)
        return answer if method == b"GET" else answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def _response(status: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
