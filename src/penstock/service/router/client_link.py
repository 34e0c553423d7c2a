"""The link of a client: it publishes documents, subscribes, and receives deliveries."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from penstock.errors import LinkError, PenstockError, error
from penstock.links import (
    Acknowledged,
    Closed,
    Established,
    Link,
    Message,
    MessageReceived,
    document_from_message,
)
from penstock.service.router.engine import RouterEngine, subscription_prefix
from penstock.service.router.group_commit import GroupCommit
from penstock.service.router.limits import DELIVERIES_AT_ONCE
from penstock.service.router.link_events import LinkEvents
from penstock.service.router.wire_messages import (
    Attach,
    Attached,
    Kind,
    Receipt,
    Result,
    SubscribeRequest,
    SynchroniseRequest,
    UnsubscribeRequest,
    decode,
    delivery_to_link,
    encode,
    read_subscriptions,
)
from penstock.workspace.router_records import StoredDelivery

logger = logging.getLogger(__name__)

ReadDeliveries = Callable[[str, int, int], Awaitable[list[StoredDelivery]]]
"""Reads deliveries from the store: subscriber, number, how many."""


class ClientLink:
    """A connected client. All methods run in the event loop."""

    def __init__(
        self,
        link: Link,
        *,
        store_id: str,
        commits: GroupCommit,
        read_deliveries: ReadDeliveries,
        room: Callable[[], Awaitable[None]],
    ) -> None:
        self.name = link.peer
        self._link = link
        self._store_id = store_id
        self._commits = commits
        self._read_deliveries = read_deliveries
        self._room = room
        self._events = LinkEvents(
            link, on_acknowledged=self._acknowledged, on_status=self._status_changed
        )
        self._receipts: list[Receipt] = []
        self._receipts_added = asyncio.Event()
        self._deliveries_added = asyncio.Event()
        self._sent: deque[tuple[int, int]] = deque()
        """Sequence numbers of messages and numbers of the deliveries in them."""
        self._session_id = b""
        self._delivering: asyncio.Task[None] | None = None
        self.is_connected = False
        self.published = 0

    def deliveries_added(self) -> None:
        """There are new deliveries."""
        self._deliveries_added.set()

    async def serve(self) -> None:
        """Serves the link until it is closed."""
        receipts = asyncio.create_task(self._send_receipts())
        self._events.watch(receipts)
        try:
            async for event in self._events:
                if isinstance(event, Established) and event.session_id != self._session_id:
                    await self._start_session(event.session_id)
                elif isinstance(event, MessageReceived):
                    await self._message(event)
        finally:
            for task in (receipts, self._delivering):
                await _cancel(task)

    def _status_changed(self, event: Established | Closed) -> None:
        self.is_connected = isinstance(event, Established)
        state = "connected" if self.is_connected else "disconnected"
        logger.info("client %s: %s", self.name, state)

    async def _start_session(self, session_id: bytes) -> None:
        # Nothing of the previous session is sent: the client asks again for what it lacks.
        await _cancel(self._delivering)
        self._delivering = None
        self._sent.clear()
        self._receipts.clear()
        self._session_id = session_id

    async def _message(self, event: MessageReceived) -> None:
        try:
            match event.message.kind:
                case Kind.PUBLISH:
                    await self._publish(event)
                    return
                case Kind.ATTACH:
                    await self._attach(decode(event.message.body, Attach))
                case Kind.SUBSCRIBE:
                    await self._subscribe(decode(event.message.body, SubscribeRequest))
                case Kind.UNSUBSCRIBE:
                    await self._unsubscribe(decode(event.message.body, UnsubscribeRequest))
                case Kind.SYNCHRONISE:
                    request = decode(event.message.body, SynchroniseRequest)
                    await self._commits.submit(lambda _engine: None)
                    await self._answer(Result(request.number))
                case kind:
                    raise error(
                        "routing.message", f"a client does not send messages of kind {kind}"
                    )
        except LinkError:
            raise
        except PenstockError as problem:
            logger.warning("client %s: %s", self.name, problem)
        self._link.acknowledge(event)

    # Publishing

    async def _publish(self, event: MessageReceived) -> None:
        await self._room()
        try:
            document, _ = document_from_message(event.message)
        except LinkError as problem:
            self._done(event, Receipt(event.sequence, "refused", problem.code, problem.message))
            return
        job = partial(RouterEngine.publish, document=document, sequence=event.sequence)
        committed = self._commits.submit(job, event.message.size)
        committed.add_done_callback(partial(self._published, event))

    def _published(self, event: MessageReceived, committed: asyncio.Future[Receipt]) -> None:
        if not committed.cancelled() and committed.exception() is None:
            self.published += 1
            self._done(event, committed.result())

    def _done(self, event: MessageReceived, receipt: Receipt) -> None:
        self._link.acknowledge(event)
        if event.session_id == self._session_id:
            self._receipts.append(receipt)
            self._receipts_added.set()

    async def _send_receipts(self) -> None:
        while True:
            await self._receipts_added.wait()
            self._receipts_added.clear()
            if self._receipts:
                receipts, self._receipts = self._receipts, []
                await self._link.send(Message(body=encode(receipts), kind=Kind.RECEIPTS))

    # Subscribing

    async def _subscribe(self, request: SubscribeRequest) -> None:
        try:
            added = read_subscriptions(
                request, subscriber=self.name, prefix=subscription_prefix(self.name)
            )
            changed = await self._commits.submit(
                partial(RouterEngine.subscribe, subscriptions=added)
            )
        except PenstockError as problem:
            await self._answer(Result(request.number, problem.code, problem.message))
        else:
            await self._answer(Result(request.number, changed=changed))

    async def _unsubscribe(self, request: UnsubscribeRequest) -> None:
        prefix = subscription_prefix(self.name)
        ids = tuple(f"{prefix}{each}" for each in request.ids)
        try:
            changed = await self._commits.submit(
                partial(_unsubscribe, subscriber=self.name, ids=ids)
            )
        except PenstockError as problem:
            await self._answer(Result(request.number, problem.code, problem.message))
        else:
            await self._answer(Result(request.number, changed=changed))

    async def _answer(self, result: Result) -> None:
        await self._link.send(Message(body=encode(result), kind=Kind.RESULT))

    # Deliveries

    async def _attach(self, request: Attach) -> None:
        await _cancel(self._delivering)
        self._sent.clear()
        after = await self._commits.submit(
            partial(
                RouterEngine.attach,
                subscriber=self.name,
                store_id=request.store_id,
                after=request.after,
            )
        )
        answer = Attached(request.number, self._store_id, after)
        await self._link.send(Message(body=encode(answer), kind=Kind.ATTACHED))
        self._delivering = asyncio.create_task(self._deliver(after))
        self._events.watch(self._delivering)

    async def _deliver(self, after: int) -> None:
        prefix = subscription_prefix(self.name)
        while True:
            self._deliveries_added.clear()
            page = await self._read_deliveries(self.name, after, DELIVERIES_AT_ONCE)
            for each in page:
                message = delivery_to_link(
                    each.number,
                    each.subscription.removeprefix(prefix),
                    each.document,
                    fragments=each.fragments,
                    fragments_omitted=each.fragments_omitted,
                )
                sequence = await self._link.send(message)
                self._sent.append((sequence, each.number))
                after = each.number
            if len(page) < DELIVERIES_AT_ONCE:
                await self._deliveries_added.wait()

    def _acknowledged(self, event: Acknowledged) -> None:
        upto = 0
        if event.session_id == self._session_id:
            while self._sent and self._sent[0][0] <= event.sequence:
                upto = self._sent.popleft()[1]
        if upto:
            self._commits.submit(
                partial(RouterEngine.acknowledge_deliveries, subscriber=self.name, upto=upto)
            )


def _unsubscribe(engine: RouterEngine, *, subscriber: str, ids: tuple[str, ...]) -> int:
    return engine.unsubscribe(ids or [each.id for each in engine.subscriptions_of(subscriber)])


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
