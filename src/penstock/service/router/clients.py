"""A client of a router: publishes documents, subscribes, and receives deliveries."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections import deque
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any, Self

from penstock.documents import Document
from penstock.errors import PenstockError, error
from penstock.links import (
    Address,
    BackOff,
    ClientTls,
    Closed,
    Established,
    Link,
    LinkOptions,
    Message,
    MessageReceived,
    SessionReset,
    connect,
    document_to_message,
)
from penstock.routing import LocalSubscription
from penstock.service.router.limits import DOCUMENTS_UNDER_WAY_MAX, ROUTER_LINK_LIMITS
from penstock.service.router.tokens import Role
from penstock.service.router.wire_messages import (
    Attach,
    Attached,
    DeliveredDocument,
    Kind,
    Receipt,
    Result,
    SynchroniseRequest,
    UnsubscribeRequest,
    decode,
    delivery_from_link,
    encode,
    subscribe_request,
)

__all__ = ["RouterClient"]


class RouterClient:
    """A connection to a router; use it as an asynchronous context manager.

    It connects again by itself, and sends again what the router may not have. Deliveries are
    acknowledged by the caller; those that are not come again after a restart.

    Parameters
    ----------
    address
        Where the router listens.
    name
        Name of this client; its subscriptions and deliveries belong to it.
    token
        The secret that the router has for this name; without it, an insecure router is needed.
    tls
        Whom to trust; without it the connection is not encrypted.
    router
        Name of the router; by default any is accepted.
    store_id, after
        The store that numbered the deliveries, and the last one that the caller has stored, for
        callers that store their deliveries: then none comes twice, whoever is killed.
    """

    def __init__(
        self,
        address: Address,
        *,
        name: str,
        token: bytes | None = None,
        tls: ClientTls | None = None,
        router: str = "",
        store_id: str = "",
        after: int = 0,
        heartbeat_seconds: float = 5.0,
        heartbeat_timeout_seconds: float = 15.0,
        reconnect_seconds_max: float = 5.0,
    ) -> None:
        self._address = address
        self._token = token
        self._tls = tls
        self._router = router
        self._options = LinkOptions(
            name=name,
            limits=ROUTER_LINK_LIMITS,
            capabilities=(Role.CLIENT.value,),
            heartbeat_seconds=heartbeat_seconds,
            heartbeat_timeout_seconds=heartbeat_timeout_seconds,
        )
        self._back_off_seconds_max = reconnect_seconds_max
        self.store_id = store_id
        """The store that numbered the deliveries."""
        self._after = after
        self._link: Link | None = None
        self._is_attached = False
        self._requests: dict[int, tuple[Message, asyncio.Future[Result]]] = {}
        self._request_number = 0
        self._published: dict[int, tuple[Document, asyncio.Future[Receipt]]] = {}
        """Documents without a receipt, by the sequence number of their message."""
        self._outgoing: deque[tuple[Document, asyncio.Future[Receipt]]] = deque()
        """Documents that are not in a session, or not in the current one."""
        self._session_number = 0
        self._tasks: list[asyncio.Task[None]] = []
        self._yielded = after
        """Number of the last delivery that the caller has got."""
        self._attach_number = 0
        self._is_delivering = False
        """Whether the router has answered the last request for deliveries. What comes before is
        sent again."""
        self._deliveries: deque[tuple[MessageReceived, DeliveredDocument]] = deque()
        self._unacknowledged: deque[tuple[MessageReceived, int]] = deque()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self.last_error = ""
        """Why the last connection or attempt ended."""
        self.is_connected = False

    async def __aenter__(self) -> Self:
        self._link = await connect(
            self._address,
            peer=self._router,
            options=self._options,
            token=self._token,
            tls=self._tls,
            back_off=BackOff(random.Random(os.urandom(16)), seconds_max=self._back_off_seconds_max),
        )
        self._tasks = [
            asyncio.create_task(self._read(self._link)),
            asyncio.create_task(self._send_documents(self._link)),
        ]
        return self

    async def __aexit__(self, *_: object) -> None:
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert self._link is not None
        await self._link.close()

    async def connected(self) -> None:
        """Waits until the router has accepted the connection.

        Raises
        ------
        LinkError
            The router refuses this client.
        """
        while not self.is_connected:
            await self._wait()

    # Publishing

    async def publish(self, document: Document) -> asyncio.Future[Receipt]:
        """Sends a document; the future has its receipt once the router has stored it.

        Waits while the router is slow. Documents are published in the order of the calls.

        Raises
        ------
        LinkError
            The document exceeds a limit of the link, or the router refuses this client.
        """
        self._check()
        while len(self._outgoing) + len(self._published) >= DOCUMENTS_UNDER_WAY_MAX:
            await self._wait()
        future: asyncio.Future[Receipt] = asyncio.get_running_loop().create_future()
        self._outgoing.append((document, future))
        self._notify()
        return future

    async def _send_documents(self, link: Link) -> None:
        try:
            while True:
                if not self._outgoing:
                    await self._wait()
                    continue
                message = document_to_message(self._outgoing[0][0], kind=Kind.PUBLISH)
                with contextlib.suppress(_SessionEndedError):
                    await link.send(message, store=partial(self._sent, self._session_number))
        except PenstockError as problem:
            self._fail(problem)

    def _sent(self, number: int, _session_id: bytes, sequence: int, _message: Message) -> None:
        if number != self._session_number:
            # Documents of the session that has ended come first.
            raise _SessionEndedError
        self._published[sequence] = self._outgoing.popleft()

    async def synchronise(self) -> None:
        """Waits until the router has committed all acknowledgements so far."""
        number = self._next_request()
        body = encode(SynchroniseRequest(number))
        await self._request(number, Message(body=body, kind=Kind.SYNCHRONISE))

    # Subscribing

    async def subscribe(self, subscriptions: Iterable[LocalSubscription]) -> int:
        """Adds subscriptions, all or none; returns how many are new.

        Raises
        ------
        PenstockError
            The router refuses a subscription.
        """
        number = self._next_request()
        request = subscribe_request(number, tuple(subscriptions))
        return await self._request(number, Message(body=encode(request), kind=Kind.SUBSCRIBE))

    async def unsubscribe(self, ids: Sequence[str] = ()) -> int:
        """Removes subscriptions of this client, by default all; returns how many.

        Raises
        ------
        PenstockError
            ``subscription.unknown``
        """
        number = self._next_request()
        request = UnsubscribeRequest(number, tuple(ids))
        return await self._request(number, Message(body=encode(request), kind=Kind.UNSUBSCRIBE))

    def _next_request(self) -> int:
        self._request_number += 1
        return self._request_number

    async def _request(self, number: int, message: Message) -> int:
        self._check()
        assert self._link is not None
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._requests[number] = (message, future)
        await self._link.send(message)
        waiting = asyncio.create_task(self._wait_for_failure())
        try:
            either: set[asyncio.Future[Any]] = {future, waiting}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            self._check()
            result = future.result()
        finally:
            waiting.cancel()
            self._requests.pop(number, None)
        if result.code:
            raise error(result.code, result.message)
        return result.changed

    # Deliveries

    async def deliveries(self) -> AsyncGenerator[DeliveredDocument, None]:
        """The deliveries to this client, endlessly and in order, each once.

        Raises
        ------
        LinkError
            The router refuses this client.
        """
        if not self._is_attached:
            self._is_attached = True
            self._attach()
        while True:
            while not self._deliveries:
                await self._wait()
            event, delivery = self._deliveries.popleft()
            self._yielded = delivery.number
            self._unacknowledged.append((event, delivery.number))
            yield delivery

    def acknowledge(self, delivery: DeliveredDocument) -> None:
        """States that a delivery and all before it are stored."""
        self._after = max(self._after, delivery.number)
        self._acknowledge_upto(delivery.number)

    def _acknowledge_upto(self, number: int) -> None:
        last: MessageReceived | None = None
        while self._unacknowledged and self._unacknowledged[0][1] <= number:
            last = self._unacknowledged.popleft()[0]
        if last is not None and self._link is not None:
            self._link.acknowledge(last)

    def _attach(self) -> None:
        """Asks for the deliveries behind those that the caller has acknowledged."""
        assert self._link is not None
        self._attach_number += 1
        self._is_delivering = False
        self._deliveries.clear()
        self._unacknowledged.clear()
        body = encode(Attach(self._attach_number, self.store_id, self._after))
        self._start(_send(self._link, Message(body=body, kind=Kind.ATTACH)))

    # The link

    async def _read(self, link: Link) -> None:
        try:
            while True:
                event = await link.receive()
                match event:
                    case Established():
                        self.is_connected = True
                        if self._is_attached:
                            # Whoever served the link before the connection broke may have failed.
                            self._attach()
                    case Closed(error=problem):
                        self.is_connected = False
                        self.last_error = "" if problem is None else str(problem)
                        if event.peer_code in _FINAL or (
                            problem is not None and problem.code in _FINAL
                        ):
                            raise problem or error("link.closed", "the router refuses this client")
                    case SessionReset():
                        self._reset(link)
                    case MessageReceived():
                        self._message(link, event)
                self._notify()
        except (PenstockError, OSError) as problem:
            self._fail(problem)

    def _reset(self, link: Link) -> None:
        """The router lost the session: sends again what it may not have."""
        self._session_number += 1
        self._is_delivering = False
        self._deliveries.clear()
        self._unacknowledged.clear()
        self._outgoing.extendleft(reversed(self._published.values()))
        self._published.clear()
        for message, _ in self._requests.values():
            self._start(_send(link, message))

    def _start(self, sending: Coroutine[Any, Any, None]) -> None:
        """Sends in the background: sending may wait for the reader."""
        task = asyncio.create_task(sending)
        task.add_done_callback(self._finished)
        self._tasks.append(task)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.remove(task)
        if not task.cancelled() and isinstance(failure := task.exception(), Exception):
            self._fail(failure)

    def _message(self, link: Link, event: MessageReceived) -> None:
        message = event.message
        match message.kind:
            case Kind.RECEIPTS:
                for receipt in decode(message.body, list[Receipt]):
                    _, future = self._published.pop(receipt.sequence, (None, None))
                    if future is not None and not future.done():
                        future.set_result(receipt)
                self._acknowledge_unless_delivering(link, event)
            case Kind.RESULT:
                result = decode(message.body, Result)
                if result.number in self._requests:
                    future_result = self._requests[result.number][1]
                    if not future_result.done():
                        future_result.set_result(result)
                self._acknowledge_unless_delivering(link, event)
            case Kind.ATTACHED:
                attached = decode(message.body, Attached)
                if attached.store_id != self.store_id:
                    self._after = self._yielded = attached.after
                self.store_id = attached.store_id
                self._is_delivering = attached.number == self._attach_number
                self._acknowledge_unless_delivering(link, event)
            case Kind.DELIVERY:
                self._delivered(event, delivery_from_link(message))

    def _delivered(self, event: MessageReceived, delivery: DeliveredDocument) -> None:
        if not self._is_delivering:
            return
        if delivery.number > self._yielded:
            self._deliveries.append((event, delivery))
        else:
            # The router sends it again; the caller has it, or has acknowledged it.
            self._unacknowledged.append((event, delivery.number))
            self._acknowledge_upto(self._after)

    def _acknowledge_unless_delivering(self, link: Link, event: MessageReceived) -> None:
        """Acknowledgements are cumulative, so a message behind deliveries waits for them: those
        that the caller has not acknowledged, and those that the router will send again."""
        is_behind = self._is_attached and not self._is_delivering
        if not is_behind and not self._deliveries and not self._unacknowledged:
            link.acknowledge(event)

    def _notify(self) -> None:
        # Wakes all that wait now.
        self._changed.set()
        self._changed.clear()

    def _fail(self, problem: Exception) -> None:
        self._failure = problem
        for _, future in (*self._published.values(), *self._outgoing):
            if not future.done():
                future.set_exception(problem)
        self._changed.set()

    async def _wait(self) -> None:
        self._check()
        await self._changed.wait()
        self._check()

    async def _wait_for_failure(self) -> None:
        while self._failure is None:
            await self._changed.wait()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure


async def _send(link: Link, message: Message) -> None:
    await link.send(message)


class _SessionEndedError(Exception):
    """The session ended while a document waited; nothing was sent."""


_FINAL = frozenset({"link.authentication", "link.version", "link.preamble"})
"""Codes of refusals that another attempt does not change."""
