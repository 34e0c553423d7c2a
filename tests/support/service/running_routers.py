"""Routers in the process of the test, on loopback."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from penstock.documents import Document, Header
from penstock.links import TcpAddress
from penstock.routing import UNIVERSAL, LocalSubscription, NeighbourStatus
from penstock.service.router import DeliveredDocument, RouterClient, RouterOptions
from penstock.service.router.engine import RouterEngine
from penstock.service.router.service import RouterService
from penstock.workspace.router_store import RouterStore

LOCAL = TcpAddress("127.0.0.1", 0)
WAIT_SECONDS_MAX = 60.0


def router_options(name: str, **values: Any) -> RouterOptions:  # noqa: ANN401
    """Options for a router on this machine; without tokens it is insecure."""
    defaults: dict[str, Any] = {
        "listen": LOCAL,
        "insecure": "tokens" not in values,
        "reconnect_seconds_max": 0.2,
    }
    return RouterOptions(name=name, **{**defaults, **values})


@contextlib.asynccontextmanager
async def running(folder: Path, options: RouterOptions) -> AsyncIterator[RouterService]:
    """A router whose state is in a folder."""
    folder.mkdir(exist_ok=True)
    with contextlib.closing(RouterStore.open(folder, options.name)) as store:
        engine = RouterEngine(
            store,
            limits=options.limits,
            annotations=options.annotations,
            aggregate_nodes=options.aggregate_nodes,
            overflow=options.overflow,
        )
        async with RouterService(engine, options) as service:
            yield service


async def until(condition: Callable[[], object]) -> None:
    """Waits until a condition holds."""
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not condition():
            await asyncio.sleep(0.01)


async def until_in_step(service: RouterService, neighbour: str, patterns: int) -> None:
    """Waits until a router knows the interest of a neighbour, which has so many patterns. The
    interest of a neighbour that does not know its own neighbours' yet is everything."""

    def is_in_step(engine: RouterEngine) -> bool:
        router = engine.router
        if neighbour not in router.neighbours:
            return False
        known = router.interest_of(neighbour)
        is_up_to_date = router.status(neighbour) is NeighbourStatus.IN_STEP
        return is_up_to_date and len(known) == patterns and UNIVERSAL not in known

    async with asyncio.timeout(WAIT_SECONDS_MAX):
        while not await service.commits.read(is_in_step):
            await asyncio.sleep(0.01)


def flash(id_: str = "s1", query: str = "//flash") -> LocalSubscription:
    """A subscription."""
    return LocalSubscription(id=id_, subscriber="-", query=query)


def news(number: int, publisher: str = "wire") -> Document:
    """A document that :func:`flash` matches."""
    content = f"<news><flash>{number}</flash></news>"
    return Document(content.encode(), Header(publisher=publisher, id=str(number)))


async def take(client: RouterClient, count: int) -> list[DeliveredDocument]:
    """The next deliveries, which are acknowledged."""
    found = []
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        async with contextlib.aclosing(client.deliveries()) as deliveries:
            async for each in deliveries:
                client.acknowledge(each)
                found.append(each)
                if len(found) == count:
                    break
        await client.synchronise()
    return found


async def publish(client: RouterClient, *documents: Document) -> list[str]:
    """The outcomes of publishing documents."""
    futures = [await client.publish(each) for each in documents]
    async with asyncio.timeout(WAIT_SECONDS_MAX):
        return [(await each).outcome for each in futures]
