"""The events of a link, with acknowledgements apart from what may have to wait."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable

from penstock.links import (
    Acknowledged,
    Closed,
    Established,
    Link,
    LinkEvent,
    MessageReceived,
    SessionReset,
)

__all__ = ["LinkEvents"]

OtherEvent = Established | SessionReset | MessageReceived | Closed


class LinkEvents:
    """Reads a link without pause.

    A router that waits for one neighbour to acknowledge reads no further documents of the others;
    but it has to read their acknowledgements, or two neighbours could wait for each other. The
    window of the link bounds what is held here.
    """

    def __init__(
        self,
        link: Link,
        *,
        on_acknowledged: Callable[[Acknowledged], None],
        on_status: Callable[[Established | Closed], None],
    ) -> None:
        self._link = link
        self._on_acknowledged = on_acknowledged
        self._on_status = on_status
        self._events: deque[OtherEvent] = deque()
        self._wake = asyncio.Event()
        self._failure: BaseException | None = None

    async def __aiter__(self) -> AsyncIterator[OtherEvent]:
        """All events but acknowledgements, in order; raises when the link is closed."""
        reader = asyncio.create_task(self._read())
        try:
            while True:
                while self._events:
                    yield self._events.popleft()
                if self._failure is not None:
                    raise self._failure
                self._wake.clear()
                await self._wake.wait()
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader

    def watch(self, task: asyncio.Task[None]) -> None:
        """If a task fails, so does whoever reads these events."""
        task.add_done_callback(self._watched)

    def _watched(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (failure := task.exception()) is not None:
            self._failure = failure
            self._wake.set()

    async def _read(self) -> None:
        try:
            while True:
                self._take(await self._link.receive())
                self._wake.set()
        except Exception as failure:
            self._failure = failure
            self._wake.set()

    def _take(self, event: LinkEvent) -> None:
        if isinstance(event, Acknowledged):
            self._on_acknowledged(event)
            return
        if isinstance(event, Established | Closed):
            self._on_status(event)
        self._events.append(event)
