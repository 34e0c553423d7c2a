"""A router and its workspace: inbox, subscriptions, mappings, status, metrics."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from penstock.documents import Document, Header
from penstock.language import TokenizerOptions
from penstock.links import TcpAddress, run
from penstock.service.metrics import MetricsServer
from penstock.service.router import RouterClient, RouterOptions
from penstock.service.router.engine import RouterEngine
from penstock.service.router.metrics import metrics_text
from penstock.service.router.service import RouterService
from penstock.service.router.status import collect_status
from penstock.service.router.workspace_feed import (
    WorkspaceFeed,
    load_workspace,
    workspace_subscriptions,
)
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.router_store import RouterStore
from support.service.running_routers import (
    flash,
    news,
    publish,
    router_options,
    take,
    until_in_step,
)

SECONDS_MAX = 120.0


def run_test(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(asyncio.wait_for(main(), SECONDS_MAX))


@contextlib.asynccontextmanager
async def routed(workspace: Workspace, options: RouterOptions) -> AsyncIterator[RouterService]:
    """A router that follows a workspace."""
    with contextlib.closing(RouterStore.open(workspace.path, options.name)) as store:
        engine = RouterEngine(store)
        load_workspace(engine, workspace)
        async with RouterService(engine, options) as service:
            service.start_task(WorkspaceFeed(service, engine, workspace).run())
            yield service


def inbox_of(workspace: Workspace) -> list[str]:
    read = workspace.inbox.documents_after(0, documents_max=1_000, bytes_max=1 << 20)
    return [document.identity for _, document in read.documents]


async def until_inbox(workspace: Workspace, count: int) -> list[str]:
    while len(found := inbox_of(workspace)) < count:
        await asyncio.sleep(0.02)
    return found


@pytest.fixture
def two(tmp_path: Path) -> Any:  # noqa: ANN401
    with Workspace.create(tmp_path / "a") as a, Workspace.create(tmp_path / "b") as b:
        yield a, b


def test_documents_pass_from_one_inbox_to_the_other_once(two: tuple[Workspace, Workspace]) -> None:
    a, b = two
    a.subscriptions.add(StoredSubscription(subscriber="ada", query="//flash", id="s"))
    b.subscriptions.add(StoredSubscription(subscriber="bob", query="//flash", id="s"))
    # What was published before the first start is not routed.
    a.publish([news(0, "early")])

    async def main() -> None:
        async with (
            routed(a, router_options("a")) as first,
            routed(b, router_options("b", connect={"a": first.address})) as second,
        ):
            await until_in_step(first, "b", 1)
            await until_in_step(second, "a", 1)
            a.publish([news(1, "at-a"), Document(b"<other/>", Header(publisher="at-a"))])
            assert await until_inbox(b, 1) == ["at-a/1"]
            b.publish([news(1, "at-b"), news(2, "at-b")])
            await until_inbox(a, 5)
            async with RouterClient(first.address, name="wire") as client:
                # A publisher's document reaches the inboxes of all.
                assert await publish(client, news(9), news(9)) == ["accepted", "duplicate"]
            await until_inbox(a, 6)
            await until_inbox(b, 4)
            await asyncio.sleep(1.5)  # if a document returned, it would be now
            assert inbox_of(b) == ["at-a/1", "at-b/1", "at-b/2", "wire/9"]
            assert sorted(inbox_of(a)[3:]) == ["at-b/1", "at-b/2", "wire/9"]
            for service, received in ((first, 6), (second, 4)):
                report = await service.commits.read(RouterEngine.report)
                assert report.counters["received"] == received
                assert report.subscribers["workspace"] == 0

    run_test(main)


def test_a_document_of_the_router_is_not_routed_again_after_a_restart(
    two: tuple[Workspace, Workspace],
) -> None:
    a, _ = two
    a.subscriptions.add(StoredSubscription(subscriber="ada", query="//flash", id="s"))

    async def main() -> None:
        async with (
            routed(a, router_options("a")) as service,
            RouterClient(service.address, name="wire") as client,
        ):
            await publish(client, news(1))
        # It is in the state only, or in the inbox too: whatever was reached.
        async with routed(a, router_options("a")) as service:
            await until_inbox(a, 1)
            a.publish([news(2, "local")])
            while (await service.commits.read(RouterEngine.report)).journal_position != 2:
                await asyncio.sleep(0.02)
            report = await service.commits.read(RouterEngine.report)
            assert (report.counters["received"], report.counters["duplicates"]) == (2, 0)

    run_test(main)


def test_changes_of_subscriptions_are_picked_up(two: tuple[Workspace, Workspace]) -> None:
    a, b = two

    async def main() -> None:
        async with (
            routed(a, router_options("a")) as first,
            routed(b, router_options("b", connect={"a": first.address})) as second,
        ):
            await until_in_step(second, "a", 0)
            # Another process changes the workspace.
            with Workspace.open(a.path) as other:
                other.subscriptions.add(StoredSubscription(subscriber="x", query="//y", id="s"))
            await until_in_step(second, "a", 1)
            with Workspace.open(a.path) as other:
                other.subscriptions.set_paused(["s"], paused=True)
            await until_in_step(second, "a", 0)

    run_test(main)


def test_subscriptions_of_a_workspace_become_local_ones(two: tuple[Workspace, Workspace]) -> None:
    a, _ = two
    past, future = (datetime.now(UTC) + timedelta(hours=hours) for hours in (-1, 1))
    words = StoredSubscription(subscriber="x", query="storm", kind="keywords", id="words")
    for each in (
        StoredSubscription(
            subscriber="x",
            query="//n:a",
            namespaces={"n": "urn:n"},
            where={"lang": "en"},
            starts_at=future,
            id="path",
        ),
        words,
        StoredSubscription(subscriber="x", query="//b", expires_at=past, id="expired"),
    ):
        a.subscriptions.add(each)
    found = workspace_subscriptions(a)
    assert [each.query for each in found.values()] == ["//n:a", "storm"]
    path = found["workspace path"]
    # The pipeline checks when a subscription starts.
    assert (path.where, path.namespaces, path.starts_at) == ({"lang": "en"}, {"n": "urn:n"}, None)
    a.tokenizer.write(replace(TokenizerOptions(), fold_diacritics=False))
    assert workspace_subscriptions(a)["workspace words"].query == "/*"


def test_status_and_metrics(two: tuple[Workspace, Workspace]) -> None:
    a, _ = two

    async def fetch(address: TcpAddress, request: bytes) -> tuple[str, str]:
        reader, writer = await asyncio.open_connection(address.host, address.port)
        writer.write(request)
        answer = (await reader.read()).decode()
        writer.close()
        await writer.wait_closed()
        head, _, body = answer.partition("\r\n\r\n")
        return head.splitlines()[0], body

    async def main() -> None:
        async with (
            routed(a, router_options("a")) as service,
            RouterClient(service.address, name="ada") as ada,
        ):
            await ada.subscribe([flash()])
            await publish(ada, news(1))
            await take(ada, 1)

            async def text() -> str:
                return metrics_text(await collect_status(service))

            server = MetricsServer(text)
            await server.start(TcpAddress("127.0.0.1", 0))
            line, body = await fetch(server.address, b"GET /metrics HTTP/1.1\r\n\r\n")
            assert line == "HTTP/1.1 200 OK"
            assert "\npenstock_router_received_total 1\n" in body
            assert "\npenstock_router_set_aside_total 0\n" in body
            assert "\npenstock_router_set_aside_subscriptions 0\n" in body
            assert '\npenstock_router_subscriber_waiting{subscriber="ada"} 0\n' in body
            for row in body.splitlines():
                assert row.startswith(("# HELP ", "# TYPE ", "penstock_router_"))
            for request, expected in (
                (b"HEAD /metrics HTTP/1.1\r\n\r\n", "200 OK"),
                (b"GET / HTTP/1.1\r\n\r\n", "404 Not Found"),
                (b"POST /metrics HTTP/1.1\r\n\r\n", "405 Method Not Allowed"),
            ):
                line, _ = await fetch(server.address, request)
                assert line == f"HTTP/1.1 {expected}"
            await server.close()
            status = await collect_status(service)
            assert json.loads(json.dumps(status))["counters"]["deliveries"] == 1

    run_test(main)
