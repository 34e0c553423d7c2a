"""Runs a peer or a system agent until it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from penstock.documents import Document, Header, read_summary
from penstock.documents.failure_report import PROCESS_EXITS, internal_error
from penstock.errors import PenstockError, error
from penstock.links import Address, TcpAddress
from penstock.overlay import AgentOptions, Deliver, PatternInterest, PeerOutput
from penstock.service.metrics import MetricsServer
from penstock.service.peer.agent_service import AgentService
from penstock.service.peer.options import PeerServiceOptions
from penstock.service.peer.output_writer import OutputWriter
from penstock.service.peer.publication import GivenDocument
from penstock.service.peer.service import PeerService
from penstock.service.peer.status import agent_metrics_text, metrics_text


class Listening(NamedTuple):
    """Where a peer or an agent can be reached."""

    name: str
    address: Address
    metrics: TcpAddress | None


class Published(NamedTuple):
    """A document was published."""

    origin: str
    sequence: int


class Refused(NamedTuple):
    """A document was not published."""

    origin: str
    problem: PenstockError


class SubscriptionChanged(NamedTuple):
    """The peer subscribes to something else from now on."""

    queries: int


class SubscriptionRefused(NamedTuple):
    """A changed subscription has an error; the former one stays in force."""

    problem: PenstockError


Report: TypeAlias = (
    PeerOutput | Listening | Published | Refused | SubscriptionChanged | SubscriptionRefused
)
"""What a peer process reports to its user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerTask:
    """What a peer does until it is stopped."""

    documents: AsyncIterator[GivenDocument] | None = None
    """What it publishes as source; ``None`` if it is none."""

    children: int = 0
    """Children that a source waits for before it publishes."""

    join: Sequence[Address] = ()
    """Peers whose trees it joins, besides those whose sources the agent knows."""

    interest: PatternInterest | None = None
    """What it subscribes to; ``None`` if it joins no tree."""

    read_interest: Callable[[], PatternInterest] | None = None
    """Reads the subscription again at SIGHUP, if it can change."""

    count: int | None = None
    """Deliveries after which it ends, if any."""


class _Counted:
    """Writes reports, and no deliveries beyond the last one that is wanted."""

    def __init__(
        self, write: Callable[[Report], None], count: int | None, done: Callable[[], None]
    ) -> None:
        self._write = write
        self._left = count
        self._done = done

    def __call__(self, report: Report) -> None:
        if self._left is None or not isinstance(report, Deliver):
            self._write(report)
            return
        if self._left > 0:
            self._write(report)
            self._left -= 1
            if not self._left:
                self._done()


async def run_peer(
    options: PeerServiceOptions, task: PeerTask, write: Callable[[Report], None]
) -> None:
    """Runs a peer until SIGTERM or SIGINT, or the last delivery that is wanted.

    At SIGHUP it changes its subscription, if that can be read again. At the end it leaves its
    trees, so that its children miss nothing; a second signal ends it at once.

    Parameters
    ----------
    options
        Address, token, time-outs.
    task
        What to publish and to subscribe to.
    write
        Called with every report, in a thread of its own; deliveries in order.
    """
    loop = asyncio.get_running_loop()
    stop, stop_at_once = asyncio.Event(), asyncio.Event()

    def signalled() -> None:
        (stop_at_once if stop.is_set() else stop).set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, signalled)

    def done() -> None:
        loop.call_soon_threadsafe(stop.set)

    service: PeerService | None = None

    def room_changed() -> None:
        if service is not None:
            service.room_changed()

    writer = OutputWriter(
        _Counted(write, task.count, done), on_progress=room_changed, on_failure=stop_at_once.set
    )
    async with AsyncExitStack() as stack:
        service = PeerService(options, writer.put, has_room=writer.has_room)
        await stack.enter_async_context(service)
        metrics = None
        if options.metrics is not None:
            running = service
            metrics = await _serve_metrics(
                stack, lambda: metrics_text(running.status()), options.metrics
            )
        writer.put(Listening(service.name, service.address, metrics))
        if task.read_interest is not None:
            change = partial(_change_interest, service, task.read_interest, writer)
            loop.add_signal_handler(signal.SIGHUP, change)
        if task.count == 0:
            stop.set()
        await _work(service, task, writer, (stop, stop_at_once))
        await _until(service.leave(), stop_at_once)
    await writer.close(options.peer.leave_seconds)


def _change_interest(
    service: PeerService, read: Callable[[], PatternInterest], writer: OutputWriter[Report]
) -> None:
    try:
        interest = read()
    except PenstockError as problem:
        writer.put(SubscriptionRefused(problem))
        return
    writer.put(SubscriptionChanged(len(interest.patterns)))
    service.change_interest(interest)


async def run_agent(
    options: PeerServiceOptions, agent: AgentOptions, write: Callable[[Listening], None]
) -> None:
    """Runs a system agent until SIGTERM or SIGINT.

    Parameters
    ----------
    options
        Address, token, TLS.
    agent
        Seeds, and who may move.
    write
        Called when the agent can be reached.
    """
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(AgentService(options, agent))
        metrics = None
        if options.metrics is not None:
            metrics = await _serve_metrics(
                stack, lambda: agent_metrics_text(service.status()), options.metrics
            )
        write(Listening(service.name, service.address, metrics))
        await stop.wait()


async def _serve_metrics(
    stack: AsyncExitStack, text: Callable[[], str], address: TcpAddress
) -> TcpAddress:
    async def current() -> str:
        return text()

    server = MetricsServer(current)
    await server.start(address)
    stack.push_async_callback(server.close)
    return server.address


async def _work(
    service: PeerService,
    task: PeerTask,
    writer: OutputWriter[Report],
    stops: tuple[asyncio.Event, asyncio.Event],
) -> None:
    """Publishes and joins until one of the events is set, or something fails."""
    working: list[asyncio.Task[object]] = []
    if task.documents is not None:
        service.serve_source()
        working.append(asyncio.create_task(_publish(service, task, task.documents, writer)))
    if task.interest is not None:
        working.append(asyncio.create_task(service.join_at(task.join, task.interest)))
    stopping: list[asyncio.Task[object]] = [asyncio.create_task(each.wait()) for each in stops]
    waiting = {*working, *stopping}
    try:
        while not any(each.done() for each in stopping):
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        for each in waiting:
            each.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


async def _publish(
    service: PeerService,
    task: PeerTask,
    documents: AsyncIterator[GivenDocument],
    writer: OutputWriter[Report],
) -> None:
    await service.children(task.children)
    publisher = service.name.partition("@")[0]
    async for given in documents:
        try:
            content = _checked_content(given)
            sequence = await service.publish(Document(content, Header(publisher=publisher)))
        except PenstockError as problem:
            writer.put(Refused(given.origin, problem))
        else:
            writer.put(Published(given.origin, sequence))


def _checked_content(given: GivenDocument) -> bytes:
    """The content of a well-formed document."""
    try:
        content = given.read()
    except OSError as problem:
        raise error("overlay.document", problem.strerror or str(problem)) from None
    try:
        read_summary(content)
    except (PenstockError, *PROCESS_EXITS):
        raise
    except BaseException as failure:
        raise internal_error(failure, content) from failure
    return content


async def _until(work: Coroutine[Any, Any, object], event: asyncio.Event) -> None:
    """Waits for work, or for an event that makes it pointless."""
    tasks: set[asyncio.Task[object]] = {
        asyncio.create_task(work),
        asyncio.create_task(event.wait()),
    }
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
