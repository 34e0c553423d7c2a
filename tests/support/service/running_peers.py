"""Peers in the process of the test, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from typing import Any

from penstock.documents import Document, Header
from penstock.links import TcpAddress
from penstock.overlay import Connected, Deliver, PeerOptions, PeerOutput
from penstock.service.peer import PeerService, PeerServiceOptions

LOCAL = TcpAddress("127.0.0.1", 0)
WAIT_SECONDS_MAX = 60.0


class RunningPeer:
    """A peer and what it has put out."""

    def __init__(self, service: PeerService, outputs: list[PeerOutput]) -> None:
        self.service = service
        self.outputs = outputs

    @property
    def name(self) -> str:
        """The name of the peer."""
        return self.service.name

    def deliveries(self) -> list[bytes]:
        """The documents for the subscriber, in order."""
        return [each.document.content for each in self.outputs if isinstance(each, Deliver)]

    async def join(self, other: RunningPeer | None, query: str) -> None:
        """Joins the trees of another peer, or of all sources that the agent knows, and waits until
        it is connected."""
        interest = self.service.model.interest(xpath=[query])
        seeds = [] if other is None else [other.service.address]
        await self.service.join_at(seeds, interest)
        await until(lambda: any(isinstance(each, Connected) for each in self.outputs))

    async def publish(self, *contents: bytes) -> None:
        """Publishes documents."""
        for content in contents:
            await self.service.publish(Document(content, Header(publisher="test")))


def peer_options(label: str, **values: Any) -> PeerServiceOptions:  # noqa: ANN401
    """Options for a peer on this machine; without a token it is insecure."""
    fan_out = values.pop("fan_out", 6)
    defaults: dict[str, Any] = {
        "listen": LOCAL,
        "insecure": "token" not in values,
        "peer": PeerOptions(fan_out=fan_out, leave_seconds=10.0),
    }
    return PeerServiceOptions(label=label, **{**defaults, **values})


@contextlib.asynccontextmanager
async def running_peer(label: str, **values: Any) -> AsyncIterator[RunningPeer]:  # noqa: ANN401
    """A peer until the end of the context."""
    outputs: list[PeerOutput] = []
    has_room = values.pop("has_room", lambda: True)
    is_source = values.pop("is_source", False)
    async with PeerService(peer_options(label, **values), outputs.append, has_room=has_room) as one:
        if is_source:
            one.serve_source()
        yield RunningPeer(one, outputs)


async def until(condition: Callable[[], object]) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not condition():
            await asyncio.sleep(0.01)
