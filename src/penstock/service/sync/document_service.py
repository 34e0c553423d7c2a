"""Requests of many clients for one document, several in a round; streams of messages to clients."""

from __future__ import annotations

import asyncio
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from penstock.errors import PenstockError, error
from penstock.service.sync.clone_description import CloneDescription
from penstock.service.sync.document_engine import DocumentEngine, DocumentStatus
from penstock.service.sync.limits import SYNC_STREAM_MESSAGES_MAX, SYNC_STREAMS_MAX
from penstock.sync.message_codec import decode_request, encode_messages
from penstock.sync.messages import Message, Request
from penstock.sync.request_round import Round

Answer = asyncio.Future[tuple[Message, ...]]


class MessageStream:
    """Messages to a client that it did not request."""

    def __init__(self, client: str) -> None:
        self.client = client
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue(SYNC_STREAM_MESSAGES_MAX)
        self.is_ended = False

    def put(self, message: Message) -> None:
        """Adds a message; a client that is too slow loses the stream."""
        try:
            self._messages.put_nowait(message)
        except asyncio.QueueFull:
            self.end()

    def end(self) -> None:
        """Lets :meth:`next` return ``None``."""
        self.is_ended = True
        while self._messages.full():
            self._messages.get_nowait()
        self._messages.put_nowait(None)

    async def next(self) -> Message | None:
        """The next message; ``None`` when the stream has ended."""
        return None if self.is_ended else await self._messages.get()


@dataclass(slots=True)
class ServiceCounters:
    """What a document's service has done since it was started."""

    rounds: int = 0
    requests: int = 0
    refused_requests: int = 0
    pushed_messages: int = 0
    """Messages put into streams."""
    lost_streams: int = 0
    """Streams that ended because their clients were too slow."""


class DocumentService:
    """Takes requests while a round is being executed, and executes the next round with them.

    So the number of transactions depends on the speed of the disk, and not on that of requests.
    """

    def __init__(self, engine: DocumentEngine) -> None:
        self.name = engine.name
        self._engine = engine
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="penstock-sync")
        self._requests: deque[tuple[Request, Answer]] = deque()
        self._streams: dict[str, MessageStream] = {}
        self._left: list[str] = []
        self._forgotten: list[tuple[str, asyncio.Future[bool]]] = []
        self.counters = ServiceCounters()
        self._status = engine.status()
        self._wake = asyncio.Event()
        self._is_closing = False

    @property
    def version(self) -> int:
        """The version of the document."""
        return self._engine.version

    @property
    def status(self) -> DocumentStatus:
        """The size of the document's state after the last round."""
        return self._status

    @property
    def stream_count(self) -> int:
        """The number of connected clients."""
        return len(self._streams)

    @property
    def waiting_count(self) -> int:
        """The number of requests that wait for the next round."""
        return len(self._requests)

    async def clones(self, prefix: str) -> list[CloneDescription]:
        """The clones whose names begin so."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, self._engine.clones, prefix)

    async def forget(self, client: str) -> None:
        """Removes a client that does not come back, when that is stored.

        Raises
        ------
        SyncError
            ``sync.client-unknown``: there is no such client. ``sync.stopping``: the server stops.
        """
        if self._is_closing:
            raise error("sync.stopping", "the server is stopping")
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._forgotten.append((client, future))
        self._wake.set()
        if not await future:
            raise error("sync.client-unknown", f"the server has no clone `{client}`")

    async def answer(self, request: Request) -> tuple[Message, ...]:
        """The messages that answer a request, when what they acknowledge is stored.

        Raises
        ------
        PenstockError
            The request is refused; ``sync.stopping``: the server stops.
        """
        if self._is_closing:
            raise error("sync.stopping", "the server is stopping")
        future: Answer = asyncio.get_running_loop().create_future()
        # The client may have gone when the answer is there.
        future.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._requests.append((request, future))
        self._wake.set()
        return await future

    async def decode(self, data: bytes) -> Request:
        """The request of bytes, decoded by the thread of the engine: one at a time."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, decode_request, data)

    async def encode(self, messages: tuple[Message, ...]) -> bytes:
        """The bytes of messages."""
        return await asyncio.get_running_loop().run_in_executor(None, encode_messages, messages)

    def require_stream(self, client: str) -> None:
        """Raises if a client cannot have a stream.

        Raises
        ------
        SyncError
            ``sync.streams``: there are too many. ``sync.stopping``: the server stops.
        """
        if self._is_closing:
            raise error("sync.stopping", "the server is stopping")
        if client not in self._streams and len(self._streams) >= SYNC_STREAMS_MAX:
            raise error("sync.streams", f"the document has {SYNC_STREAMS_MAX:,} streams")

    def open_stream(self, client: str) -> MessageStream:
        """A stream for a client; it replaces an earlier one, and raises as
        :meth:`require_stream` does."""
        self.require_stream(client)
        known = self._streams.pop(client, None)
        if known is not None:
            known.end()
        stream = self._streams[client] = MessageStream(client)
        return stream

    def close_stream(self, stream: MessageStream) -> None:
        """A client has gone."""
        stream.end()
        if self._streams.get(stream.client) is stream:
            del self._streams[stream.client]
            self._left.append(stream.client)

    async def run(self) -> None:
        """Executes rounds until :meth:`close`; raises if one fails."""
        while self._requests or self._forgotten or not self._is_closing:
            if not self._requests and not self._forgotten:
                self._wake.clear()
                await self._wake.wait()
                continue
            taken = list(self._requests)
            self._requests.clear()
            forgotten, self._forgotten = self._forgotten, []
            try:
                await self._run_round(taken, forgotten)
            except BaseException:
                self._is_closing = True
                waiting: list[asyncio.Future[Any]] = [
                    future for _, future in (*taken, *self._requests)
                ]
                waiting += [future for _, future in (*forgotten, *self._forgotten)]
                for future in waiting:
                    if not future.done():
                        future.set_exception(error("sync.stopping", "the server has failed"))
                raise

    async def _run_round(
        self,
        taken: list[tuple[Request, Answer]],
        forgotten: list[tuple[str, asyncio.Future[bool]]],
    ) -> None:
        left, self._left = self._left, []
        requests = [request for request, _ in taken]
        connected = frozenset(self._streams)
        names = [client for client, _ in forgotten]

        def run() -> tuple[list[bool], Round, DocumentStatus]:
            known = [self._engine.knows(client) for client in names]
            done = self._engine.run(requests, connected=connected, left=left, forgotten=names)
            return known, done, self._engine.status()

        loop = asyncio.get_running_loop()
        known, done, self._status = await loop.run_in_executor(self._executor, run)
        self._count(done)
        for message in done.pushed:
            stream = self._streams.get(message.client)
            if stream is not None:
                stream.put(message)
                if stream.is_ended:
                    self.counters.lost_streams += 1
                    self.close_stream(stream)  # its reader may never notice
        for (_, future), answer in zip(taken, done.answers, strict=True):
            if future.done():
                continue
            if isinstance(answer, PenstockError):
                future.set_exception(answer)
            else:
                future.set_result(answer)
        for (_, removal), was_known in zip(forgotten, known, strict=True):
            if not removal.done():
                removal.set_result(was_known)

    def _count(self, done: Round) -> None:
        self.counters.rounds += 1
        self.counters.requests += len(done.answers)
        refused = sum(isinstance(answer, PenstockError) for answer in done.answers)
        self.counters.refused_requests += refused
        self.counters.pushed_messages += sum(
            message.client in self._streams for message in done.pushed
        )

    def close(self) -> None:
        """Ends all streams, and lets :meth:`run` end when the requests so far are answered."""
        self._is_closing = True
        for stream in self._streams.values():
            stream.end()
        self._wake.set()

    def shut_down(self) -> None:
        """Ends the thread and releases the store."""
        self._executor.shutdown()
        self._engine.close()
