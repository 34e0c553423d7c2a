"""Routers and clients on loopback: tokens, TLS, resuming, back-pressure, faults."""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
from collections.abc import Callable, Coroutine
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock.documents import Document, Header
from penstock.errors import LinkError, PenstockError, WorkspaceError
from penstock.links import (
    Address,
    ClientTls,
    LinkOptions,
    MessageReceived,
    ServerTls,
    TcpAddress,
    connect,
    run,
)
from penstock.routing import NO_KINDS, AnnotationOptions, RouterLimits
from penstock.routing.annotations import DocumentAnnotations
from penstock.routing.reference.match_list import MatchList, encode_match_list
from penstock.service.router import PeerToken, Role, RouterClient
from penstock.service.router.engine import Distrusted, RouterEngine
from penstock.service.router.limits import ROUTER_LINK_LIMITS
from penstock.service.router.metrics import metrics_text
from penstock.service.router.status import collect_status
from penstock.service.router.wire_messages import Receipt
from support.links.certificates import Authority
from support.links.faulty_proxy import FaultyProxy
from support.service.running_routers import (
    flash,
    news,
    publish,
    router_options,
    running,
    take,
    until,
    until_in_step,
)

SECONDS_MAX = 120.0


def run_test(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    run(asyncio.wait_for(main(), SECONDS_MAX))


def test_a_document_reaches_subscribers_of_all_routers(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            running(tmp_path / "b", router_options("b", connect={"a": a.address})) as b,
            running(tmp_path / "c", router_options("c", connect={"b": b.address})) as c,
            RouterClient(a.address, name="ada") as ada,
            RouterClient(c.address, name="carl") as carl,
        ):
            assert await ada.subscribe([flash()]) == 1
            assert await ada.subscribe([flash()]) == 0
            await carl.subscribe([flash("mine", "//flash[. > 1]")])
            await until_in_step(a, "b", 1)
            await until_in_step(c, "b", 1)
            outcomes = await publish(
                ada, news(1), news(2), news(2), Document(b"<a>", news(3).header)
            )
            assert outcomes == ["accepted", "accepted", "duplicate", "refused"]
            [delivery] = await take(carl, 1)
            assert (delivery.subscription, delivery.identity) == ("mine", "wire/2")
            assert delivery.content == news(2).content
            assert [each.identity for each in await take(ada, 2)] == ["wire/1", "wire/2"]
            assert await carl.unsubscribe() == 1
            await until_in_step(b, "c", 0)

    run_test(main)


def test_fragments_are_delivered_instead_of_the_document(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            await ada.subscribe([replace(flash(), returns="fragments")])
            await publish(ada, news(1))
            [delivery] = await take(ada, 1)
            assert delivery.content is None
            assert delivery.fragments == (("element", "<flash>1</flash>"),)

    run_test(main)


def test_expired_subscriptions_are_removed_and_not_announced_any_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.router.service.EXPIRY_SECONDS", 0.05)

    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            running(tmp_path / "b", router_options("b", connect={"a": a.address})) as b,
            RouterClient(a.address, name="ada") as ada,
        ):
            soon = datetime.now(UTC) + timedelta(seconds=2)
            await ada.subscribe([flash(), replace(flash("s2", "//other"), expires_at=soon)])
            await until_in_step(b, "a", 2)
            await until_in_step(b, "a", 1)
            assert datetime.now(UTC) >= soon
            [left] = await a.commits.read(lambda engine: engine.subscriptions_of("ada"))
            assert left.query == "//flash"

    run_test(main)


def test_a_refused_subscription_has_a_code_and_changes_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            with pytest.raises(PenstockError) as refused:
                await ada.subscribe([flash(), flash("s2", "//[")])
            assert refused.value.code == "query.syntax"
            with pytest.raises(PenstockError) as unknown:
                await ada.unsubscribe(["s1"])
            assert unknown.value.code == "subscription.unknown"

    run_test(main)


def test_a_client_cannot_touch_the_subscriptions_of_another(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
            RouterClient(a.address, name="eve") as eve,
        ):
            await ada.subscribe([flash()])
            for ids in (["s1"], ["client ada s1"]):
                with pytest.raises(PenstockError):
                    await eve.unsubscribe(ids)
            assert await eve.unsubscribe() == 0
            report = await a.commits.read(RouterEngine.report)
            assert report.subscriptions == 1

    run_test(main)


def test_a_subscriber_resumes_after_its_restart_and_that_of_its_router(tmp_path: Path) -> None:
    async def main() -> None:
        async with running(tmp_path / "a", router_options("a")) as a:
            async with RouterClient(a.address, name="ada") as ada:
                await ada.subscribe([flash()])
                await publish(ada, *map(news, range(1, 6)))
                first = await take(ada, 2)
                store_id = ada.store_id
            # It has stored one more than the router knows.
            resumed = RouterClient(a.address, name="ada", store_id=store_id, after=3)
            async with resumed:
                [delivery] = await take(resumed, 1)
                assert (delivery.number, delivery.identity) == (4, "wire/4")
            assert [each.number for each in first] == [1, 2]
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            assert [each.number for each in await take(ada, 1)] == [5]
            assert ada.store_id == store_id

    run_test(main)


def test_a_client_outlives_a_restart_of_its_router(tmp_path: Path) -> None:
    async def main() -> None:
        received = []
        async with running(tmp_path / "a", router_options("a")) as a:
            address = a.address
            ada = RouterClient(address, name="ada", reconnect_seconds_max=0.2)
            await ada.__aenter__()
            await ada.subscribe([flash()])
            await publish(ada, news(1), news(2))
            deliveries = ada.deliveries()
            # The caller has the first, and has not acknowledged it when the router ends.
            received.append(await anext(deliveries))
        async with running(tmp_path / "a", router_options("a", listen=address)):
            waiting = [await ada.publish(each) for each in (news(2), news(3))]
            assert [(await each).outcome for each in waiting] == ["duplicate", "accepted"]
            received += [await anext(deliveries), await anext(deliveries)]
            for each in received:
                ada.acknowledge(each)
            await ada.synchronise()
            await deliveries.aclose()
            await ada.__aexit__()
        assert [each.identity for each in received] == ["wire/1", "wire/2", "wire/3"]
        async with running(tmp_path / "a", router_options("a", listen=address)) as a:
            report = await a.commits.read(RouterEngine.report)
            assert report.subscribers == {"ada": 0}

    run_test(main)


def peer_tokens(**roles: str) -> dict[str, PeerToken]:
    return {name: PeerToken(Role(role), secrets.token_bytes(32)) for name, role in roles.items()}


def test_tokens_decide_who_may_connect_and_what_as(tmp_path: Path) -> None:
    async def main() -> None:
        tokens = peer_tokens(b="router", ada="client")
        async with running(tmp_path / "a", router_options("a", tokens=tokens)) as a:
            token = tokens["ada"].token
            async with RouterClient(a.address, name="ada", token=token, router="a") as ada:
                assert await publish(ada, news(1)) == ["accepted"]
            for name, wrong in (("ada", bytes(32)), ("ada", None), ("eve", token)):
                async with RouterClient(a.address, name=name, token=wrong) as refused:
                    with pytest.raises(LinkError):
                        await refused.connected()
            # A client that says it is a router is served as a client.
            link = await connect(
                a.address,
                peer="a",
                options=LinkOptions(name="ada", capabilities=("router",)),
                token=token,
            )
            await until(lambda: link.connected)
            await until(lambda: "ada" in a.clients)
            assert a.neighbours == {}
            await link.close()
            assert a.refused == {"link.authentication": 3}

    run_test(main)


def test_a_router_without_its_token_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        tokens = peer_tokens(b="router")
        async with running(tmp_path / "a", router_options("a", tokens=tokens)) as a:
            wrong = peer_tokens(a="router")
            options = router_options("b", connect={"a": a.address}, tokens=wrong)
            async with running(tmp_path / "b", options) as b:
                await until(lambda: b.neighbours["a"].last_error)
                assert not b.neighbours["a"].is_connected
            right = {"a": tokens["b"]}
            options = router_options("b", connect={"a": a.address}, tokens=right)
            async with running(tmp_path / "b", options) as b:
                await until(lambda: b.neighbours["a"].is_connected)
                await until(lambda: "b" in a.neighbours and a.neighbours["b"].is_authenticated)

    run_test(main)


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        (AnnotationOptions(), {"not_read": 2, "verified_annotations": 0}),
        (AnnotationOptions(verified_share=1.0), {"not_read": 0, "verified_annotations": 2}),
        (AnnotationOptions(kinds=NO_KINDS), {"not_read": 0, "verified_annotations": 0}),
    ],
    ids=["adaptive", "verified", "none"],
)
def test_options_decide_which_annotations_are_sent_and_verified(
    tmp_path: Path, annotations: AnnotationOptions, expected: dict[str, int]
) -> None:
    async def main() -> None:
        tokens = peer_tokens(b="router", ada="client")
        here = router_options("a", tokens=tokens, annotations=annotations)
        async with running(tmp_path / "a", here) as a:
            known = {"a": tokens["b"], **peer_tokens(bob="client")}
            there = router_options(
                "b", connect={"a": a.address}, tokens=known, annotations=annotations
            )
            async with (
                running(tmp_path / "b", there) as b,
                RouterClient(
                    a.address, name="ada", token=tokens["ada"].token, router="a"
                ) as publisher,
                RouterClient(b.address, name="bob", token=known["bob"].token, router="b") as bob,
            ):
                await bob.subscribe([flash()])
                await until_in_step(a, "b", 1)
                await publish(publisher, news(1), news(2))
                assert [each.identity for each in await take(bob, 2)] == ["wire/1", "wire/2"]
                counters = await b.commits.read(lambda engine: engine.router.counters)
                assert {name: getattr(counters, name) for name in expected} == expected

    run_test(main)


def test_a_neighbour_whose_annotations_are_wrong_is_cut_off_and_shown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        tokens = peer_tokens(b="router", ada="client")
        known = {"a": tokens["b"], **peer_tokens(bob="client")}
        here = router_options("a", tokens=tokens)
        async with running(tmp_path / "a", here) as a:
            there = router_options(
                "b",
                connect={"a": a.address},
                tokens=known,
                annotations=AnnotationOptions(verified_share=1.0),
            )
            async with (
                running(tmp_path / "b", there) as b,
                RouterClient(a.address, name="ada", token=tokens["ada"].token, router="a") as ada,
                RouterClient(b.address, name="bob", token=known["bob"].token, router="b") as bob,
            ):
                await bob.subscribe([flash(), flash("s2", "//other")])
                await until_in_step(a, "b", 2)
                await publish(ada, news(1))
                assert [each.subscription for each in await take(bob, 1)] == ["s1"]
                status = await collect_status(b)
                assert status["neighbours"]["a"]["authenticated"]
                assert not status["neighbours"]["a"]["distrusted"]

                neighbour = a._engine.router._neighbours["b"]

                def lie(headers: DocumentAnnotations, *_: object) -> bytes:
                    """The document matches both patterns of the neighbour's interest."""
                    both = encode_match_list(MatchList([0, 1]))
                    return headers.encode_list(neighbour.interest_digest, both)

                monkeypatch.setattr(neighbour.annotator, "annotate", lie)
                await publish(ada, news(2))
                await until(lambda: b.neighbours["a"].link is None)
                assert [each.identity for each in await take(bob, 1)] == ["wire/2"]
                status = await collect_status(b)
                assert status["neighbours"]["a"]["distrusted"]
                assert not status["neighbours"]["a"]["connected"]
                assert "until a restart" in status["neighbours"]["a"]["last_error"]
                text = metrics_text(status)
                assert '\npenstock_router_neighbour_distrusted{neighbour="a"} 1\n' in text
                assert "[routing.annotations]" in caplog.text
                await publish(ada, news(3))
                await until(lambda: not a.neighbours["b"].is_connected)
                assert (await b.commits.read(RouterEngine.report)).counters["received"] == 2

    with caplog.at_level(logging.WARNING):
        run_test(main)


def test_links_can_be_encrypted(tmp_path: Path) -> None:
    authority = Authority.create(tmp_path, "authority")
    certificate, key = authority.sign("localhost")

    async def main() -> None:
        server = ServerTls(certificate=certificate, key=key)
        client = ClientTls(authorities=authority.path, server_hostname="localhost")
        options = router_options("a", server_tls=server)
        async with (
            running(tmp_path / "a", options) as a,
            running(
                tmp_path / "b", router_options("b", connect={"a": a.address}, client_tls=client)
            ) as b,
            RouterClient(a.address, name="ada", tls=client) as ada,
            RouterClient(b.address, name="bob") as bob,
        ):
            await ada.subscribe([flash()])
            await until_in_step(b, "a", 1)
            await publish(bob, news(1))
            assert [each.identity for each in await take(ada, 1)] == ["wire/1"]

    run_test(main)


def test_nothing_is_lost_over_a_link_that_breaks_again_and_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            FaultyProxy(tcp(a.address), random.Random(1)) as proxy,
            running(tmp_path / "b", router_options("b", connect={"a": proxy.address})) as b,
            RouterClient(a.address, name="ada") as ada,
            RouterClient(b.address, name="bob") as bob,
        ):
            await ada.subscribe([flash()])
            await until_in_step(b, "a", 1)
            proxy.cut_after_bytes = 3_000
            proxy.cut_all()
            count = 150
            taking = asyncio.create_task(take(ada, count))
            await publish(bob, *map(news, range(count)))
            found = await taking
            assert [int(each.header.id) for each in found] == list(range(count))
            assert proxy.cuts > 3

    run_test(main)


def tcp(address: Address) -> TcpAddress:
    assert isinstance(address, TcpAddress)
    return address


def test_a_neighbour_that_does_not_acknowledge_holds_publishers_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.router.neighbour_link.OUTBOX_MESSAGES_MAX", 5)

    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            # Its interest is unknown, so it gets everything.
            link = await connect(
                a.address,
                peer="a",
                options=LinkOptions(name="b", capabilities=("router",), limits=ROUTER_LINK_LIMITS),
            )
            await until(lambda: "b" in a.neighbours and a.neighbours["b"].is_connected)
            waiting: list[asyncio.Future[Receipt]] = []
            while not (neighbour := a.neighbours["b"]).is_full:
                # One at a time: what is submitted already is not held back.
                latest = await ada.publish(news(len(waiting)))
                waiting.append(latest)
                await until(lambda: latest.done() or neighbour.is_full)  # noqa: B023
            assert 1 <= len(waiting) <= 6
            waiting += [await ada.publish(news(number)) for number in range(len(waiting), 20)]
            # Some time to be wrong in.
            await asyncio.wait({waiting[-1]}, timeout=0.2)
            assert not waiting[-1].done()
            received = 0
            while received < 20:
                event = await link.receive()
                if isinstance(event, MessageReceived):
                    received += event.message.kind == 0
                    link.acknowledge(event)
            assert [(await each).outcome for each in waiting] == ["accepted"] * 20
            await link.close()
            # While it is not connected, documents wait for it, and nobody else does.
            await until(lambda: not a.neighbours["b"].is_connected)
            more = await publish(ada, *map(news, range(20, 40)))
            assert more == ["accepted"] * 20
            report = await a.commits.read(RouterEngine.report)
            assert report.neighbours["b"].waiting == 20

    run_test(main)


def test_two_routers_that_connect_to_each_other_are_reported(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with running(tmp_path / "a", router_options("a")) as a:
            address = a.address
        async with (
            running(tmp_path / "b", router_options("b", connect={"a": address})) as b,
            running(tmp_path / "a", router_options("a", listen=address, connect={"b": b.address})),
        ):
            await until(lambda: "only one of two" in caplog.text)

    with caplog.at_level(logging.ERROR):
        run_test(main)


def test_a_neighbour_that_stated_something_wrong_is_cut_off_until_a_restart(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            running(tmp_path / "b", router_options("b", connect={"a": a.address})) as b,
        ):
            await until(lambda: "b" in a.neighbours and a.neighbours["b"].is_connected)
            a._on_effect(Distrusted("b"))
            await until(lambda: "refused until a restart" in caplog.text)
            assert not a.neighbours["b"].is_connected
            # The side that connects stops connecting.
            b._on_effect(Distrusted("a"))
            await until(lambda: b.neighbours["a"].link is None)

    with caplog.at_level(logging.ERROR):
        run_test(main)


def test_a_disk_that_is_full_stops_the_router(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise WorkspaceError("workspace.full", "no room")

    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            await ada.subscribe([flash()])
            monkeypatch.setattr("penstock.workspace.router_store.RouterStore.commit", fail)
            published = await ada.publish(news(1))
            with pytest.raises(WorkspaceError, match="no room"):
                await a.wait()
            assert not published.done()
            monkeypatch.undo()

    run_test(main)


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"insecure": False}, "routing.insecure"),
        ({"aggregate_nodes": 0}, "routing.bound"),
        ({"overflow": "discard-all"}, "routing.option"),
        ({"connect": {"a": ("127.0.0.1", 1)}}, "routing.option"),
        ({"name": "a b"}, "link.option"),
    ],
)
def test_options_are_validated(values: dict[str, Any], code: str) -> None:
    with pytest.raises(PenstockError) as refused:
        router_options(**{"name": "a", **values})
    assert refused.value.code == code


def test_the_bound_of_announced_interests_and_the_overflow_policy_are_options(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        narrow = router_options(
            "a",
            aggregate_nodes=4,
            overflow="discard-newest",
            limits=RouterLimits(waiting_documents=2),
        )
        async with (
            running(tmp_path / "a", narrow) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            await ada.subscribe([flash(str(n), f"/news/flash[@n = {n}]/title") for n in range(9)])
            async with running(tmp_path / "b", router_options("b", connect={"a": a.address})) as b:
                await until_in_step(b, "a", 1)
                [pattern] = await b.commits.read(lambda engine: engine.router.interest_of("a"))
                assert str(pattern) == "/news/flash/title"
                await until_in_step(a, "b", 0)
                await b.commits.submit(
                    partial(
                        RouterEngine.subscribe, subscriptions=[replace(flash(), subscriber="x")]
                    )
                )
                await until_in_step(a, "b", 1)
            await until(lambda: not a.neighbours["b"].is_connected)
            await publish(ada, *map(news, range(4)))
            [waiting] = await a.commits.read(lambda engine: engine.router.state().neighbours)
            assert [each.document.header.id for each in waiting.waiting] == ["0", "1"]

    run_test(main)


def test_headers_and_fields_arrive_unchanged(tmp_path: Path) -> None:
    header = Header(publisher="ö/1", schema="s", id="7", fields={"lang": "de", "": "\n"})
    document = Document("<flash>ä</flash>".encode("utf-16"), header)

    async def main() -> None:
        async with (
            running(tmp_path / "a", router_options("a")) as a,
            RouterClient(a.address, name="ada") as ada,
        ):
            await ada.subscribe([flash()])
            assert await publish(ada, document) == ["accepted"]
            [delivery] = await take(ada, 1)
            assert (delivery.header, delivery.content) == (header, document.content)

    run_test(main)
