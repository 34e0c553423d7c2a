"""Routers in a row over real sockets on loopback, with the bandwidth kept by the sender.

Each router is a thread with a listening socket. It takes a document in whole, matches it and sends
it on, in pieces and no faster than its link allows. One document is on its way at a time.
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
"""Before each message its length; 0 ends the connection."""

PIECE = 1_500
"""Bytes that are sent at once."""

SLEEP_MIN = 0.0002
"""Seconds: a shorter wait is made up for with the next piece."""

TIMEOUT = 60.0
"""Seconds without a byte, after which a router gives up."""

Handle = Callable[[bytes], object]
"""What a router does with a message."""


def send_shaped(link: socket.socket, message: bytes, bandwidth: float) -> None:
    """Send a message with its length, no faster than so many bits a second."""
    data = memoryview(HEAD.pack(len(message)) + message)
    begin = time.perf_counter()
    for start in range(0, len(data), PIECE):
        piece = data[start : start + PIECE]
        link.sendall(piece)
        due = begin + (start + len(piece)) * 8 / bandwidth
        wait = due - time.perf_counter()
        if wait > SLEEP_MIN:
            time.sleep(wait)


def receive(link: socket.socket) -> bytes:
    """The next message; empty at the end."""
    (length,) = HEAD.unpack(_exactly(link, HEAD.size))
    return _exactly(link, length)


def _exactly(link: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        piece = link.recv(count - len(parts))
        if not piece:
            raise ConnectionError("a router went away")
        parts += piece
    return bytes(parts)


@dataclass(slots=True)
class _Router:
    """Takes messages from one socket and passes them on to another."""

    listener: socket.socket
    onwards: socket.socket | None
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
                if self.onwards is not None:
                    send_shaped(self.onwards, message, self.bandwidth)
            if self.onwards is not None:
                self.onwards.sendall(HEAD.pack(0))


def respond_over_sockets(
    messages: Sequence[bytes], handle: Handle, bandwidth: float, routers: int = LINEAR_ROUTERS
) -> Response:
    """Send messages through a row of routers; every one has subscribers."""
    with ExitStack() as stack:
        chain: list[_Router] = []
        onwards: socket.socket | None = None
        for _ in range(routers):
            listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
            listener.settimeout(TIMEOUT)
            chain.append(_Router(listener, onwards, handle, bandwidth, [], []))
            onwards = stack.enter_context(socket.create_connection(listener.getsockname()))
            onwards.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        assert onwards is not None
        threads = [Thread(target=router.run, daemon=True) for router in chain]
        for thread in threads:
            thread.start()
        begins = []
        for message in messages:
            begins.append(time.perf_counter())
            send_shaped(onwards, message, bandwidth)
            while len(chain[0].finished) < len(begins):
                if not threads[0].is_alive():
                    raise ConnectionError("a router went away")
                time.sleep(SLEEP_MIN)
        onwards.sendall(HEAD.pack(0))
        for thread in threads:
            thread.join(TIMEOUT)
    return _mean_response(chain[::-1], begins)


def _mean_response(chain: Sequence[_Router], begins: Sequence[float]) -> Response:
    """Over all documents and routers: what was spent on querying up to there, and the rest."""
    querying, totals = [], []
    for number, begin in enumerate(begins):
        spent = 0.0
        for router in chain:
            spent += router.querying[number]
            querying.append(spent)
            totals.append(router.finished[number] - begin)
    return Response(mean(querying), mean(totals) - mean(querying))
