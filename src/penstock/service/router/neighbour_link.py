"""The link to a neighbour: sends what is committed, and submits what is received."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from penstock.links import (
    Acknowledged,
    Closed,
    Established,
    Link,
    Message,
    MessageReceived,
)
from penstock.service.router.engine import RouterEngine
from penstock.service.router.group_commit import GroupCommit
from penstock.service.router.limits import OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX
from penstock.service.router.link_events import LinkEvents
from penstock.service.router.wire_messages import Kind

logger = logging.getLogger(__name__)


class _OtherSessionError(Exception):
    """A message belongs to another session than the link has; nothing was sent."""


class NeighbourLink:
    """A neighbour as the driver sees it. All methods run in the event loop.

    The position of a message in the outbox is its sequence number in the session plus ``base``.
    The session's id and ``base`` are committed before the first message of the session is sent, so
    after a restart it is known what each sequence number stands for.
    """

    def __init__(
        self,
        name: str,
        *,
        commits: GroupCommit,
        room_for: Callable[[str], Awaitable[None]],
        on_change: Callable[[], None],
    ) -> None:
        self.name = name
        self.link: Link | None = None
        self.is_connected = False
        self.is_authenticated = False
        self.is_distrusted = False
        """Whether the neighbour stated something wrong; its link stays closed until a restart."""
        self.last_error = ""
        self._commits = commits
        self._room_for = room_for
        self._on_change = on_change
        self._session_id = b""
        self._base = 0
        self._queue: deque[tuple[int, Message]] = deque()
        """Committed messages that are not in the link's send buffer."""
        self._unacknowledged: deque[tuple[int, int]] = deque()
        """Positions and sizes of committed messages that the neighbour has not acknowledged."""
        self._unacknowledged_bytes = 0
        self._closing: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self._turn = asyncio.Lock()

    @property
    def is_full(self) -> bool:
        """Whether too much waits for the neighbour, although it is connected."""
        return self.is_connected and (
            len(self._unacknowledged) > OUTBOX_MESSAGES_MAX
            or self._unacknowledged_bytes > OUTBOX_BYTES_MAX
        )

    # Effects of transactions

    def restore(self, session_id: bytes, base: int) -> None:
        """The stored session, whose messages are in the link's send buffer."""
        self._session_id, self._base = session_id, base

    def session_started(self, session_id: bytes, base: int) -> None:
        """A new session is committed; its messages follow."""
        self._session_id, self._base = session_id, base
        self._queue.clear()
        self._unacknowledged.clear()
        self._unacknowledged_bytes = 0
        self._wake.set()
        self._on_change()

    def message_queued(self, position: int, message: Message) -> None:
        """A message is committed."""
        self._queue.append((position, message))
        self._unacknowledged.append((position, message.size))
        self._unacknowledged_bytes += message.size
        self._wake.set()

    def distrust(self) -> None:
        """Closes the link; it is not served again."""
        self.is_distrusted = True
        self.last_error = "its annotations contradict a document: cut off until a restart"
        logger.error("neighbour %s: %s", self.name, self.last_error)
        if self.link is not None:
            self._closing = asyncio.create_task(self.link.close())

    # The link

    async def serve(self, link: Link) -> None:
        """Serves a link until it is closed."""
        async with self._turn:
            if self.is_distrusted:
                logger.error("neighbour %s: refused until a restart", self.name)
                return
            self.link = link
            events = LinkEvents(
                link, on_acknowledged=self._acknowledged, on_status=self._status_changed
            )
            sender = asyncio.create_task(self._send(link))
            events.watch(sender)
            try:
                await self._receive(link, events)
            finally:
                sender.cancel()
                await asyncio.gather(sender, return_exceptions=True)
                self.link = None
                self.is_connected = False
                self._commits.submit(partial(_closed, name=self.name))
                self._on_change()

    async def _receive(self, link: Link, events: LinkEvents) -> None:
        async for event in events:
            match event:
                case Established():
                    self._commits.submit(partial(_established, name=self.name, event=event))
                case Closed():
                    self._commits.submit(partial(_closed, name=self.name))
                case MessageReceived():
                    if event.message.kind == Kind.DOCUMENT:
                        await self._room_for(self.name)
                    committed = self._commits.submit(
                        partial(_received, name=self.name, event=event), event.message.size
                    )
                    committed.add_done_callback(partial(_acknowledge, link, event))

    def _status_changed(self, event: Established | Closed) -> None:
        if isinstance(event, Established):
            self.is_connected, self.is_authenticated = True, event.authenticated
            self.last_error = ""
            how = "authenticated" if event.authenticated else "not authenticated"
            logger.info("neighbour %s: connected, %s", self.name, how)
        else:
            if self.is_connected:
                logger.info("neighbour %s: disconnected", self.name)
            if event.error is not None and str(event.error) != self.last_error:
                self.last_error = str(event.error)
                logger.warning("neighbour %s: %s", self.name, event.error)
            self.is_connected = False
        self._on_change()

    def _acknowledged(self, event: Acknowledged) -> None:
        if event.session_id == self._session_id:
            upto = self._base + event.sequence
            while self._unacknowledged and self._unacknowledged[0][0] <= upto:
                self._unacknowledged_bytes -= self._unacknowledged.popleft()[1]
            self._on_change()
        self._commits.submit(
            partial(
                _acknowledged,
                name=self.name,
                session_id=event.session_id,
                sequence=event.sequence,
            )
        )

    async def _send(self, link: Link) -> None:
        while True:
            if not self._queue:
                self._wake.clear()
                await self._wake.wait()
                continue
            position, message = self._queue[0]
            try:
                await link.send(message, store=partial(self._check_session, position))
            except _OtherSessionError:
                # The reader has submitted the new session; it is committed soon.
                self._wake.clear()
                await self._wake.wait()
                continue
            if self._queue and self._queue[0][0] == position:
                self._queue.popleft()

    def _check_session(
        self, position: int, session_id: bytes, sequence: int, _message: Message
    ) -> None:
        if session_id != self._session_id or self._base + sequence != position:
            raise _OtherSessionError


def _established(engine: RouterEngine, *, name: str, event: Established) -> None:
    engine.link_established(name, event.session_id, is_authenticated=event.authenticated)


def _closed(engine: RouterEngine, *, name: str) -> None:
    engine.link_closed(name)


def _received(engine: RouterEngine, *, name: str, event: MessageReceived) -> None:
    engine.message_received(name, event.session_id, event.sequence, event.message)


def _acknowledged(engine: RouterEngine, *, name: str, session_id: bytes, sequence: int) -> None:
    engine.acknowledged(name, session_id, sequence)


def _acknowledge(link: Link, event: MessageReceived, committed: asyncio.Future[object]) -> None:
    if not committed.cancelled() and committed.exception() is None:
        link.acknowledge(event)
