"""A router process: listens, connects to neighbours, serves clients, and follows a workspace."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import random
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Self

from penstock.errors import LinkError, PenstockError, error
from penstock.links import (
    Address,
    BackOff,
    Established,
    Link,
    LinkEvent,
    Server,
    SessionState,
    connect,
    serve,
)
from penstock.service.router.client_link import ClientLink
from penstock.service.router.engine import (
    DeliveriesAdded,
    Distrusted,
    Effect,
    MessageQueued,
    Reported,
    RouterEngine,
    SessionStarted,
)
from penstock.service.router.group_commit import GroupCommit
from penstock.service.router.limits import EXPIRY_SECONDS
from penstock.service.router.neighbour_link import NeighbourLink
from penstock.service.router.options import RouterOptions
from penstock.service.router.tokens import Role
from penstock.workspace.router_records import StoredDelivery

logger = logging.getLogger(__name__)


class RouterService:
    """A running router; use it as an asynchronous context manager.

    Parameters
    ----------
    engine
        The router with its store.
    options
        Name, addresses and tokens.
    """

    def __init__(self, engine: RouterEngine, options: RouterOptions) -> None:
        self._engine = engine
        self.options = options
        self.commits = GroupCommit(engine, self._on_effect)
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="penstock-router-reader")
        self.neighbours: dict[str, NeighbourLink] = {}
        self.clients: dict[str, ClientLink] = {}
        self._server: Server | None = None
        self._links: list[Link] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._room_changed = asyncio.Event()
        self.inbox_changed = asyncio.Event()
        """Set when there are deliveries for the workspace."""
        self._failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def address(self) -> Address:
        """Where the router listens, with the port that it got."""
        assert self._server is not None
        return self._server.address

    @property
    def refused(self) -> dict[str, int]:
        """Connections that were refused, by error code."""
        return {} if self._server is None else dict(self._server.refused)

    async def wait(self) -> None:
        """Waits until the router fails, and raises why."""
        await self._failed

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Runs a coroutine until the service is closed; if it raises, the service fails."""
        task = asyncio.create_task(coroutine)
        task.add_done_callback(self._task_done)
        self._tasks.append(task)

    async def read_deliveries(
        self, subscriber: str, after: int, limit: int
    ) -> list[StoredDelivery]:
        """Deliveries of the store."""
        return await asyncio.get_running_loop().run_in_executor(
            self._readers, self._engine.deliveries_after, subscriber, after, limit
        )

    # Starting and closing

    async def _start(self) -> None:
        self.start_task(self.commits.run())
        for name in self.options.connect:
            await self.commits.submit(partial(RouterEngine.add_neighbour, name=name))
        states: dict[str, SessionState] = {}
        sessions = await self.commits.read(
            lambda engine: {name: engine.session_of(name) for name in engine.router.neighbours}
        )
        for name, (state, session_id, base) in sessions.items():
            self._neighbour(name).restore(session_id, base)
            if state is not None and name in self.options.tokens:
                states[name] = state
        options = self.options
        tokens = {name: each.token for name, each in options.tokens.items()}
        try:
            self._server = await serve(
                options.listen,
                self._accept,
                options=options.link_options(),
                tokens=tokens,
                accept_unauthenticated=options.insecure,
                tls=options.server_tls,
                states={name: each for name, each in states.items() if name not in options.connect},
            )
        except OSError as problem:
            raise cannot_listen(options.listen, problem) from None
        for name, address in options.connect.items():
            link = await connect(
                address,
                peer=name,
                options=options.link_options(),
                token=options.token_of(name),
                tls=options.client_tls,
                state=sessions[name][0],
                back_off=BackOff(
                    random.Random(os.urandom(16)), seconds_max=options.reconnect_seconds_max
                ),
            )
            self._links.append(link)
            self.start_task(_served(self._neighbour(name).serve(link)))
        self.start_task(self._remove_expired())
        logger.info("router %s listens on %s", options.name, self.address)

    async def close(self) -> None:
        """Closes all links, commits what was received, and ends."""
        if self._server is not None:
            await self._server.close()
        for link in self._links:
            await link.close()
        committer, *others = self._tasks
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        self.commits.close()
        await asyncio.gather(committer, return_exceptions=True)
        self.commits.shut_down()
        self._readers.shutdown()
        if not self._failed.done():
            self._failed.cancel()

    async def _remove_expired(self) -> None:
        """Removes expired subscriptions, for ever, so that nobody forwards documents for them."""
        while True:
            removed = await self.commits.submit(RouterEngine.remove_expired)
            if removed:
                logger.info("%d subscriptions have expired", removed)
            await asyncio.sleep(EXPIRY_SECONDS)

    def _task_done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled() or self._failed.done():
            return
        failure = task.exception()
        if failure is not None:
            self._failed.set_exception(failure)

    # Links

    def _neighbour(self, name: str) -> NeighbourLink:
        if name not in self.neighbours:
            self.neighbours[name] = NeighbourLink(
                name,
                commits=self.commits,
                room_for=self._room_for,
                on_change=self._room_changed.set,
            )
        return self.neighbours[name]

    async def _accept(self, link: Link) -> None:
        """Serves a peer that has connected."""
        first = await _first_connection(link)
        role = self.options.role_of(link.peer, first.capabilities)
        if role is Role.CLIENT:
            await self._serve_client(link)
            return
        if link.peer in self.options.connect:
            logger.error(
                "neighbour %s: refused, because this router connects to it; only one of two"
                " neighbours may connect to the other",
                link.peer,
            )
            return
        await self.commits.submit(partial(RouterEngine.add_neighbour, name=link.peer))
        await self._neighbour(link.peer).serve(link)

    async def _serve_client(self, link: Link) -> None:
        client = ClientLink(
            link,
            store_id=self._engine.store_id,
            commits=self.commits,
            read_deliveries=self.read_deliveries,
            room=self.room,
        )
        self.clients[link.peer] = client
        try:
            await client.serve()
        finally:
            if self.clients.get(link.peer) is client:
                del self.clients[link.peer]

    # Back-pressure

    async def _room_for(self, source: str) -> None:
        """Waits while too much waits for a neighbour other than the source of a document."""
        while any(each.is_full for each in self.neighbours.values() if each.name != source):
            self._room_changed.clear()
            await self._room_changed.wait()

    async def room(self) -> None:
        """Waits while too much waits for any neighbour."""
        await self._room_for("")

    # Effects of transactions

    def _on_effect(self, effect: Effect) -> None:
        match effect:
            case MessageQueued():
                self._neighbour(effect.neighbour).message_queued(effect.position, effect.message)
            case SessionStarted():
                self._neighbour(effect.neighbour).session_started(effect.session_id, effect.base)
            case DeliveriesAdded(subscriber=subscriber):
                if subscriber in self.clients:
                    self.clients[subscriber].deliveries_added()
                else:
                    self.inbox_changed.set()
            case Distrusted(neighbour=name):
                self._neighbour(name).distrust()
            case Reported(neighbour="", code=code, message=message):
                logger.warning("[%s] %s", code, message)
            case Reported():
                logger.warning(
                    "neighbour %s: [%s] %s", effect.neighbour, effect.code, effect.message
                )


async def _first_connection(link: Link) -> Established:
    """The first connection of a link; its events are left for whoever serves the link."""
    passed: list[LinkEvent] = []
    while True:
        event = await link.receive()
        passed.append(event)
        if isinstance(event, Established):
            link.unreceive(passed)
            return event


async def _served(serving: Coroutine[Any, Any, None]) -> None:
    """A link that this side has closed is no failure."""
    with contextlib.suppress(LinkError):
        await serving


def cannot_listen(address: Address, problem: OSError) -> PenstockError:
    """The error of an address that a router cannot listen on."""
    return error("routing.listen", f"cannot listen on {address}: {problem.strerror or problem}")
