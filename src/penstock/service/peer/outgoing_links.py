"""Links to other peers: made when there is something to send, closed when they are idle."""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Callable, Collection, Coroutine
from dataclasses import asdict
from typing import Any

from penstock.errors import LinkError, PenstockError, error
from penstock.links import (
    Acknowledged,
    BackOff,
    Closed,
    Established,
    Link,
    LinkOptions,
    Message,
    MessageReceived,
    connect,
)
from penstock.service.peer.limits import (
    CONGESTED_BYTES,
    CONGESTED_MESSAGES,
    IDLE_SECONDS,
    OUTGOING_LINKS_MAX,
    SLOW_SECONDS,
)
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.peer_names import address_of

logger = logging.getLogger(__name__)

_RECONNECT_FIRST_SECONDS = 0.05


class OutgoingLink:
    """The link to one peer. Messages that find no room are dropped: the protocol repeats them."""

    def __init__(self, link: Link, now: float) -> None:
        self.link = link
        self.used_at = now
        self.progress_at = now
        """When the peer last acknowledged something, or nothing was under way."""
        self.has_been_up = False
        """Whether there was a connection since the last failure."""

    @property
    def waiting(self) -> int:
        """Messages that the peer has not acknowledged."""
        return self.link.session.sent - self.link.session.acknowledged

    def is_congested(self, now: float) -> bool:
        """Whether documents should wait for this peer."""
        is_full = (
            self.waiting >= CONGESTED_MESSAGES
            or self.link.session.unacknowledged_bytes >= CONGESTED_BYTES
        )
        return is_full and now - self.progress_at < SLOW_SECONDS


class OutgoingLinks:
    """All links that this peer has made.

    Every message to a peer is sent over a link to the address in its name, never over one that the
    other side has made: whoever claims a name falsely receives nothing that is meant for its owner.

    Parameters
    ----------
    options
        Options of the process.
    link_options
        Options of the links.
    on_unreachable
        Called with the name of a peer to which no connection can be made.
    on_progress
        Called when a peer has acknowledged messages.
    neighbours
        Parents and children, whose links are not closed.
    """

    def __init__(
        self,
        options: PeerServiceOptions,
        link_options: LinkOptions,
        *,
        on_unreachable: Callable[[str], None],
        on_progress: Callable[[], None],
        neighbours: Callable[[], Collection[str]],
    ) -> None:
        self._options = options
        self._link_options = link_options
        self._on_unreachable = on_unreachable
        self._on_progress = on_progress
        self._neighbours = neighbours
        self._loop = asyncio.get_running_loop()
        self._random = random.Random(os.urandom(16))
        self._links: dict[str, OutgoingLink] = {}
        self._opening: dict[str, list[Message]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self.dropped = 0
        """Messages that found no room, or no address."""

    def send(self, name: str, message: Message) -> bool:
        """Sends a message if there is room; connects first if there is no link."""
        now = self._loop.time()
        opened = self._links.get(name)
        if opened is None:
            return self._open(name, message)
        opened.used_at = now
        if opened.waiting == 0:
            opened.progress_at = now
        try:
            is_sent = opened.link.try_send(message)
        except LinkError as problem:
            logger.warning("message to %s: %s", name, problem)
            is_sent = False
        self.dropped += not is_sent
        return is_sent

    def is_congested(self, names: Collection[str]) -> bool:
        """Whether documents should wait for one of these peers."""
        now = self._loop.time()
        return any(
            opened.is_congested(now)
            for name in names
            if (opened := self._links.get(name)) is not None
        )

    def close_idle(self) -> None:
        """Closes links that are not used."""
        now = self._loop.time()
        kept = set(self._neighbours())
        for name, opened in list(self._links.items()):
            if name not in kept and now - opened.used_at > IDLE_SECONDS:
                self._close(name)

    def status(self) -> dict[str, dict[str, Any]]:
        """Counters of the links, by peer."""
        return {
            name: {
                "connected": opened.link.connected,
                "waiting": opened.waiting,
                "round_trip_seconds": opened.link.round_trip_seconds,
                **asdict(opened.link.counters()),
            }
            for name, opened in self._links.items()
        }

    async def drain(self) -> None:
        """Waits until the peers that are reachable have acknowledged everything."""
        await asyncio.gather(
            *(opened.link.drain() for opened in self._links.values() if opened.link.connected),
            return_exceptions=True,
        )

    async def close(self) -> None:
        """Closes all links."""
        links, self._links = self._links, {}
        await asyncio.gather(*(opened.link.close() for opened in links.values()))
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _open(self, name: str, message: Message) -> bool:
        waiting = self._opening.get(name)
        if waiting is not None:
            if len(waiting) >= CONGESTED_MESSAGES:
                self.dropped += 1
                return False
            waiting.append(message)
            return True
        try:
            if name == self._link_options.name:
                raise error("overlay.peer-name", "a peer has no link to itself")
            self._options.check_address(address_of(name))
        except PenstockError as problem:
            logger.warning("no link to %s: %s", name, problem)
            self.dropped += 1
            return False
        if not self._make_room():
            self.dropped += 1
            return False
        self._opening[name] = [message]
        self._start(self._serve(name))
        return True

    def _make_room(self) -> bool:
        """Closes a link at the limit; says whether there is room for another one."""
        if len(self._links) + len(self._opening) < OUTGOING_LINKS_MAX:
            return True
        kept = set(self._neighbours())
        oldest = min(
            self._links, key=lambda name: (name in kept, self._links[name].used_at), default=None
        )
        if oldest is not None:
            self._close(oldest)
        return oldest is not None

    def _close(self, name: str) -> None:
        opened = self._links.pop(name, None)
        if opened is not None:
            self._start(opened.link.close())

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, name: str) -> None:
        link = await connect(
            address_of(name),
            peer=name,
            options=self._link_options,
            token=self._options.token,
            tls=self._options.client_tls,
            back_off=BackOff(self._random, first_seconds=_RECONNECT_FIRST_SECONDS),
        )
        opened = self._links[name] = OutgoingLink(link, self._loop.time())
        for message in self._opening.pop(name):
            self.send(name, message)
        try:
            while True:
                match await link.receive():
                    case Established():
                        opened.has_been_up = True
                    case Acknowledged():
                        opened.progress_at = self._loop.time()
                        self._on_progress()
                    case MessageReceived() as received:
                        link.acknowledge(received)  # Peers answer over links of their own.
                    case Closed() as closed if closed.error is not None:
                        if not opened.has_been_up:
                            logger.info("%s: %s", name, closed.error)
                            break
                        opened.has_been_up = False
                    case _:
                        pass
        except LinkError:
            return  # Closed by this side.
        if self._links.get(name) is opened:
            del self._links[name]
        await link.close()
        self._on_unreachable(name)
