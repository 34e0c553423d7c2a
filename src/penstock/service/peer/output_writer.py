"""Writes what a peer reports, in a thread: a reader that pauses must not stop the peer."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.service.peer.limits import WAITING_DELIVERIES_MAX

T = TypeVar("T")


class OutputWriter(Generic[T]):
    """Calls a function with each report, in order.

    Parameters
    ----------
    write
        Called in the thread of the writer.
    on_progress
        Called in the event loop when there is room again.
    on_failure
        Called in the event loop when ``write`` has raised an exception; nothing is written then.
    """

    def __init__(
        self,
        write: Callable[[T], None],
        *,
        on_progress: Callable[[], None],
        on_failure: Callable[[], None],
    ) -> None:
        self._write = write
        self._on_progress = on_progress
        self._on_failure = on_failure
        self._loop = asyncio.get_running_loop()
        self._reports: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._finished = asyncio.Event()
        self.failure: BaseException | None = None
        threading.Thread(target=self._run, name="penstock-output", daemon=True).start()

    def put(self, report: T) -> None:
        """Enqueues a report. Reports that come while there is no room are bounded by links."""
        self._reports.put(report)

    def has_room(self) -> bool:
        """Whether few reports wait."""
        return self._reports.qsize() < WAITING_DELIVERIES_MAX

    async def close(self, seconds: float) -> None:
        """Waits until everything is written, for a limited time."""
        self._reports.put(None)
        try:
            async with asyncio.timeout(seconds):
                await self._finished.wait()
        except TimeoutError:
            return
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            while (report := self._reports.get()) is not None:
                self._write(report)
                if self._reports.qsize() == WAITING_DELIVERIES_MAX // 2:
                    self._call(self._on_progress)
        except BaseException as failure:
            self.failure = failure
            self._call(self._on_failure)
        self._call(self._finished.set)

    def _call(self, function: Callable[[], None]) -> None:
        # If the loop is closed, nobody waits any longer.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function)
