"""Metrics in the text format of Prometheus, over HTTP."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from penstock.links import TcpAddress
from penstock.service.router.limits import (
    METRICS_CONNECTIONS_MAX,
    METRICS_REQUEST_BYTES_MAX,
    METRICS_REQUEST_SECONDS,
)
from penstock.service.router.service import RouterService
from penstock.service.router.status import collect_status

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS: Final = {
    "received": "Documents from publishers and neighbours.",
    "duplicates": "Documents that arrived before, and were ignored.",
    "matched": "Documents that match a local subscription or a neighbour's interest.",
    "unmatched": "Well-formed documents that match nothing.",
    "dead": "Documents that were refused.",
    "false_forwards": "Unmatched documents that a neighbour had forwarded.",
    "deliveries": "Deliveries to subscribers.",
    "forwards": "Documents sent or queued for a neighbour.",
    "discarded": "Forwards that were discarded because too many waited.",
    "not_read": "Documents that annotations decided without reading them.",
    "read_in_part": "Documents of which annotations decided the rest.",
    "annotation_bytes": "Bytes of annotations in forwards.",
    "ignored_annotations": "Annotations of neighbours that were not used.",
    "verified_annotations": "Documents that were read to verify annotations.",
    "refused_messages": "Messages of neighbours that were refused.",
    "forgotten_publishers": "Publishers whose duplicates are not recognised any more.",
}

_NEIGHBOUR_GAUGES: Final = {
    "connected": "Whether the link is established.",
    "patterns": "Patterns of the neighbour's interest.",
    "waiting": "Documents that wait for the link.",
    "unacknowledged": "Messages that the neighbour has not acknowledged.",
}

_LINK_COUNTERS: Final = (
    "connections",
    "bytes_sent",
    "bytes_received",
    "messages_sent",
    "messages_received",
    "retransmissions",
    "resets",
)


def metrics_text(status: Mapping[str, Any]) -> str:
    """The status of a router in the text format of Prometheus.

    Examples
    --------
    >>> escape('a"b')
    'a\\\\"b'
    """
    return "\n".join(_lines(status)) + "\n"


def _lines(status: Mapping[str, Any]) -> Iterator[str]:
    for name, text in _COUNTERS.items():
        metric = f"penstock_router_{name}_total"
        yield from _head(metric, text, "counter")
        yield f"{metric} {status['counters'][name]}"
    for metric, text, kind, value in (
        ("subscriptions", "Subscriptions at this router.", "gauge", status["subscriptions"]),
        (
            "deliveries_discarded_total",
            "Deliveries that were discarded because too many waited for a subscriber.",
            "counter",
            status["deliveries_discarded"],
        ),
        ("commits_total", "Transactions of the store.", "counter", status["commits"]),
    ):
        yield from _head(f"penstock_router_{metric}", text, kind)
        yield f"penstock_router_{metric} {value}"
    neighbours = status["neighbours"]
    for name, text in _NEIGHBOUR_GAUGES.items():
        metric = f"penstock_router_neighbour_{name}"
        yield from _head(metric, text, "gauge")
        for neighbour, values in neighbours.items():
            yield f'{metric}{{neighbour="{escape(neighbour)}"}} {int(values[name])}'
    for name in _LINK_COUNTERS:
        metric = f"penstock_router_link_{name}_total"
        yield from _head(metric, f"{name.replace('_', ' ').capitalize()} of the link.", "counter")
        for neighbour, values in neighbours.items():
            if values["link"]:
                label = f'{{neighbour="{escape(neighbour)}"}}'
                yield f"{metric}{label} {values['link'][name]}"
    metric = "penstock_router_subscriber_waiting"
    yield from _head(metric, "Deliveries that a subscriber has not acknowledged.", "gauge")
    for subscriber, waiting in status["subscribers"].items():
        yield f'{metric}{{subscriber="{escape(subscriber)}"}} {waiting}'
    metric = "penstock_router_refused_connections_total"
    yield from _head(metric, "Connections that were refused.", "counter")
    for code, count in status["refused_connections"].items():
        yield f'{metric}{{code="{escape(code)}"}} {count}'


def _head(metric: str, text: str, kind: str) -> Iterator[str]:
    yield f"# HELP {metric} {text}"
    yield f"# TYPE {metric} {kind}"


def escape(label: str) -> str:
    """The value of a label."""
    return label.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


class MetricsServer:
    """A minimal HTTP server: it answers ``GET /metrics``, one request a connection."""

    def __init__(self, service: RouterService) -> None:
        self._service = service
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
        text = metrics_text(await collect_status(self._service))
        answer = _response("200 OK", text, CONTENT_TYPE)
        return answer if method == b"GET" else answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def _response(status: str, text: str, kind: str = "text/plain; charset=utf-8") -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + body
