"""HTTP connections of which the head of each request has to arrive in time.

uvicorn closes connections that are idle between requests, but waits for ever for the rest of a head
that has begun, and for the first request. A thousand such connections would keep everybody else
out.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from penstock.service.sync.limits import SYNC_HEAD_SECONDS_MAX


class TimedHttpProtocol(H11Protocol):
    """Closes a connection when the head of a request is late."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for the first request."""
        super().connection_made(transport)
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Waits for the rest of a head that has begun; more of it is no reason to wait longer."""
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()
        elif self._head_timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is awaited any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(SYNC_HEAD_SECONDS_MAX, self._end)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end(self) -> None:
        self._head_timer = None
        # A response to an earlier request may still be on its way when the next one begins.
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self.transport.abort()
