"""A chain of routers over loopback sockets, with senders that limit the bandwidth.

Each router is a thread with a listening socket. It receives a complete document, matches it and
forwards it in chunks at the bandwidth of its link. Only one document is in transit at a time.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from statistics import mean
from threading import Thread

from penstock.lab.mediation.simulated_network import LINEAR_ROUTERS, Response

HEAD = struct.Struct("!I")
"""The length prefix of each message; 0 ends the connection."""

CHUNK = 1_500
"""Bytes per send."""

SLEEP_MIN = 0.0002
"""Shortest sleep in seconds; shorter waits are added to the next one."""

TIMEOUT = 60.0
"""Seconds without data after which a router fails."""

Handle = Callable[[bytes], object]
"""Processes a message at a router."""


def send_shaped(link: socket.socket, message: bytes, bandwidth: float) -> None:
    """Send a message with its length prefix at ``bandwidth`` bits per second."""
    data = memoryview(HEAD.pack(len(message)) + message)
    begin = time.perf_counter()
    for start in range(0, len(data), CHUNK):
        chunk = data[start : start + CHUNK]
        link.sendall(chunk)
        due = begin + (start + len(chunk)) * 8 / bandwidth
        wait = due - time.perf_counter()
        if wait > SLEEP_MIN:
            time.sleep(wait)


def receive(link: socket.socket) -> bytes:
    """The next message; empty at the end of the stream."""
    (length,) = HEAD.unpack(_exactly(link, HEAD.size))
    return _exactly(link, length)


def _exactly(link: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        chunk = link.recv(count - len(parts))
        if not chunk:
            raise ConnectionError("a router closed the connection")
        parts += chunk
    return bytes(parts)


@dataclass(slots=True)
class _Router:
    """Receives messages from one socket and forwards them to another."""

    listener: socket.socket
    next_hop: socket.socket | None
    handle: Handle
    bandwidth: float
    finished: list[float]
    querying: list[float]

    def run(self) -> None:
        link, _ = self.listener.accept()
        link.settimeout(TIMEOUT)
        with link:
            while message := receive(link):
                begin = time.perf_counter()
                self.handle(message)
                end = time.perf_counter()
                self.querying.append(end - begin)
                self.finished.append(end)
                if self.next_hop is not None:
                    send_shaped(self.next_hop, message, self.bandwidth)
            if self.next_hop is not None:
                self.next_hop.sendall(HEAD.pack(0))


def respond_over_sockets(
    messages: Sequence[bytes], handle: Handle, bandwidth: float, routers: int = LINEAR_ROUTERS
) -> Response:
    """Send messages through a chain of routers, all of which have subscribers."""
    with ExitStack() as stack:
        chain: list[_Router] = []
        next_hop: socket.socket | None = None
        for _ in range(routers):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            listener.settimeout(TIMEOUT)
            chain.append(_Router(listener, next_hop, handle, bandwidth, [], []))
            next_hop = stack.enter_context(socket.create_connection(listener.getsockname()))
            next_hop.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert next_hop is not None
        threads = [Thread(target=router.run, daemon=True) for router in chain]
        for thread in threads:
            thread.start()
        begins = []
        for message in messages:
            begins.append(time.perf_counter())
            send_shaped(next_hop, message, bandwidth)
            while len(chain[0].finished) < len(begins):
                if not threads[0].is_alive():
                    raise ConnectionError("a router closed the connection")
                time.sleep(SLEEP_MIN)
        next_hop.sendall(HEAD.pack(0))
        for thread in threads:
            thread.join(TIMEOUT)
    return _mean_response(chain[::-1], begins)


def _mean_response(chain: Sequence[_Router], begins: Sequence[float]) -> Response:
    """Mean over all documents and routers of the querying time up to there, and of the rest."""
    querying, totals = [], []
    for number, begin in enumerate(begins):
        spent = 0.0
        for router in chain:
            spent += router.querying[number]
            querying.append(spent)
            totals.append(router.finished[number] - begin)
    return Response(mean(querying), mean(totals) - mean(querying))
