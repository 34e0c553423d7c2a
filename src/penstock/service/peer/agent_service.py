"""The system agent on links: answers the peers that ask it."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from typing import Self

from penstock.errors import OverlayError
from penstock.links import Address, Link, MessageReceived
from penstock.overlay import AgentOptions, MessageCodec, PatternModel, Send, SystemAgent
from penstock.overlay.message_codec import OVERLAY_MESSAGE
from penstock.overlay.peer_messages import EligibilityAnswer, Seeds
from penstock.service.peer.endpoint import Endpoint
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.outgoing_links import OutgoingLinks
from penstock.service.peer.requests import CLIENT_PREFIX, STATUS_REQUEST, status_message
from penstock.service.peer.status import AgentStatus, new_agent_counters

logger = logging.getLogger(__name__)


class AgentService:
    """A system agent that listens; use it as an asynchronous context manager.

    It keeps nothing on disk: sources announce themselves again, and peers that receive no answer
    use the seeds that they know.

    Parameters
    ----------
    options
        Address, token, TLS; the label is that of all agents.
    agent
        Seeds, and who may move.
    """

    def __init__(self, options: PeerServiceOptions, agent: AgentOptions | None = None) -> None:
        self._options = options
        self._core = SystemAgent(agent or AgentOptions(), random=random.Random(os.urandom(16)))
        self._codec = MessageCodec(PatternModel())
        self._counters = new_agent_counters()
        self._timer: asyncio.TimerHandle | None = None
        self._sweeper: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._endpoint = Endpoint(self._options)
        self.name = self._endpoint.name
        self._links = OutgoingLinks(
            self._options,
            self._endpoint.link_options,
            on_unreachable=lambda _peer: None,
            on_progress=lambda: None,
            neighbours=lambda: (),
        )
        await self._endpoint.serve(self._serve_link)
        self._sweeper = self._loop.create_task(self._sweep())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._sweeper is not None:
            self._sweeper.cancel()
            await asyncio.gather(self._sweeper, return_exceptions=True)
        await self._links.close()
        await self._endpoint.close()

    @property
    def address(self) -> Address:
        """Where the agent listens."""
        return self._endpoint.address

    def status(self) -> AgentStatus:
        """What the agent knows."""
        counters = {**self._counters, "dropped": self._links.dropped}
        sources = self._core.sources(self._loop.time())
        return AgentStatus(name=self.name, sources=sources, counters=counters)

    async def _serve_link(self, link: Link) -> None:
        while True:
            event = await link.receive()
            if isinstance(event, MessageReceived):
                self._take(link, event)
                link.acknowledge(event)

    def _take(self, link: Link, event: MessageReceived) -> None:
        message = event.message
        if message.kind == STATUS_REQUEST:
            link.try_send(status_message(self.status()))
            return
        if message.kind != OVERLAY_MESSAGE or link.peer.startswith(CLIENT_PREFIX):
            self._counters["malformed"] += 1
            return
        try:
            decoded = self._codec.decode(message)
        except OverlayError as problem:
            self._counters["malformed"] += 1
            logger.warning("%s: %s", link.peer, problem)
            return
        self._counters["received"] += 1
        self._answer(self._core.receive(link.peer, decoded, self._loop.time()))

    def _answer(self, outputs: list[Send]) -> None:
        for output in outputs:
            match output.message:
                case Seeds():
                    self._counters["seeds"] += 1
                case EligibilityAnswer(is_granted=is_granted):
                    self._counters["granted" if is_granted else "denied"] += 1
                case _:
                    pass
            self._links.send(output.peer, self._codec.encode(output.message))
        due = self._core.next_timer
        if due is not None and self._timer is None:
            self._timer = self._loop.call_at(due, self._ticked)

    def _ticked(self) -> None:
        self._timer = None
        self._answer(self._core.tick(self._loop.time()))

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(1.0)
            self._links.close_idle()
