"""Runs a router of a workspace until it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, closing
from dataclasses import dataclass

from penstock.links import Address, TcpAddress
from penstock.service.metrics import MetricsServer
from penstock.service.router.engine import RouterEngine
from penstock.service.router.metrics import metrics_text
from penstock.service.router.options import RouterOptions
from penstock.service.router.service import RouterService, cannot_listen
from penstock.service.router.status import collect_status, write_status
from penstock.service.router.workspace_feed import WorkspaceFeed, load_workspace
from penstock.workspace import Workspace
from penstock.workspace.router_store import LOCK, RouterStore


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a router can be reached."""

    address: Address
    metrics: TcpAddress | None


async def run_router(
    workspace: Workspace, options: RouterOptions, on_listening: Callable[[Listening], None]
) -> None:
    """Runs a router until SIGTERM or SIGINT.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: a router of this workspace is running; ``workspace.full``: its state
        cannot be written.
    """
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    with workspace.lock(LOCK, wait=False):
        store = await loop.run_in_executor(None, RouterStore.open, workspace.path, options.name)
        with closing(store):
            table = workspace.mediation.read().table(unknown_schema="as-is")
            engine = await loop.run_in_executor(
                None,
                lambda: RouterEngine(
                    store,
                    limits=options.limits,
                    mappings=table,
                    annotations=options.annotations,
                    aggregate_nodes=options.aggregate_nodes,
                    overflow=options.overflow,
                ),
            )
            if options.follow_workspace:
                await loop.run_in_executor(None, load_workspace, engine, workspace)
            await _run(workspace, engine, options, on_listening, stop)


async def _run(
    workspace: Workspace,
    engine: RouterEngine,
    options: RouterOptions,
    on_listening: Callable[[Listening], None],
    stop: asyncio.Event,
) -> None:
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(RouterService(engine, options))
        metrics = None
        if options.metrics is not None:

            async def text() -> str:
                return metrics_text(await collect_status(service))

            server = MetricsServer(text)
            try:
                await server.start(options.metrics)
            except OSError as problem:
                raise cannot_listen(options.metrics, problem) from None
            stack.push_async_callback(server.close)
            metrics = server.address
        if options.follow_workspace:
            service.start_task(WorkspaceFeed(service, engine, workspace).run())
        service.start_task(write_status(service, workspace.path))
        on_listening(Listening(service.address, metrics))
        stopping = asyncio.create_task(stop.wait())
        failing = asyncio.create_task(service.wait())
        try:
            await asyncio.wait({stopping, failing}, return_when=asyncio.FIRST_COMPLETED)
            if failing.done():
                failing.result()
        finally:
            stopping.cancel()
            failing.cancel()
