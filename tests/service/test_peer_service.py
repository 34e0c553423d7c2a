"""A peer on links, in one process: joining, delivery, back-pressure, hostile peers."""

from __future__ import annotations

import asyncio
import io
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.errors import DocumentError, OverlayError
from penstock.links import (
    ClientTls,
    GroupToken,
    Link,
    Message,
    ServerTls,
    TcpAddress,
    UnixAddress,
    connect,
    run,
)
from penstock.overlay import (
    AnyPeerMessage,
    BucketModel,
    Connected,
    GapReported,
    MembershipState,
    MessageCodec,
    PatternModel,
    PeerOptions,
    PeerOutput,
)
from penstock.overlay.peer_messages import Add, Forward, Seeds, SeedsRequest
from penstock.service.metrics import MetricsServer
from penstock.service.peer import address_of, ask_peer, peer_name
from penstock.service.peer.limits import PUBLISHED_DOCUMENT_BYTES_MAX
from penstock.service.peer.options import PeerServiceOptions, read_token
from penstock.service.peer.publication import documents_in, documents_of_lines
from penstock.service.peer.status import decode_status, metrics_text
from support.links.certificates import Authority
from support.service.running_peers import LOCAL, RunningPeer, peer_options, running_peer, until

TOKEN = b"0123456789abcdef"


def test_documents_flow_down_a_chain() -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True, fan_out=1, token=TOKEN) as source,
            running_peer("one", fan_out=1, token=TOKEN) as one,
            running_peer("two", token=TOKEN) as two,
        ):
            await one.join(source, "/a[@n]")
            await two.join(source, "/b")
            await source.publish(b"<a n='1'/>", b"<b/>", b"<c/>", b"<a n='2'/>")
            await until(lambda: len(one.deliveries()) == 2 and two.deliveries())
            assert one.deliveries() == [b"<a n='1'/>", b"<a n='2'/>"]
            assert two.deliveries() == [b"<b/>"]
            [tree] = two.service.status().trees
            assert tree.path == (source.name, one.name)
            status = await ask_peer(one.service.address, peer_options("client", token=TOKEN))
            assert status.trees[0].children == (two.name,)
            assert status.counters["failed"] == status.counters["malformed"] == 0
            # The interior peer leaves; its child is connected to the source, and misses nothing.
            await one.service.leave()
            await source.publish(b"<b n='2'/>")
            await until(lambda: len(two.deliveries()) == 2)
            assert two.service.status().trees[0].parent == source.name

    run(main())


class PanicException(BaseException):
    """Like the exception of a native panic."""


@pytest.mark.parametrize("failure", [RuntimeError("injected"), PanicException("out of bounds")])
def test_a_failure_while_a_message_is_processed_loses_that_message_only(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True) as source,
            running_peer("one") as one,
        ):
            await one.join(source, "/a")
            receive = one.service.peer.receive

            def faulty(sender: str, message: AnyPeerMessage, now: float) -> list[PeerOutput]:
                if isinstance(message, Forward):
                    raise failure
                return receive(sender, message, now)

            with monkeypatch.context() as patched:
                patched.setattr(one.service.peer, "receive", faulty)
                await source.publish(b"<a n='1'/>")
                await until(lambda: one.service.status().counters["failed"] == 1)
            await source.publish(b"<a n='2'/>")
            await until(one.deliveries)

    run(main())


@pytest.mark.parametrize("failure", [RuntimeError("injected"), PanicException("out of bounds")])
def test_a_failure_while_a_document_is_published_refuses_it(
    monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    async def main() -> None:
        async with running_peer("source", is_source=True) as source:

            def faulty(*_: object) -> list[PeerOutput]:
                raise failure

            with monkeypatch.context() as patched:
                patched.setattr(source.service.peer, "publish", faulty)
                with pytest.raises(DocumentError) as refused:
                    await source.publish(b"<a/>")
            assert refused.value.code == "internal.error"
            assert refused.value.report
            assert source.service.status().counters["failed"] == 1
            await source.publish(b"<a/>")
            assert source.service.status().counters["published"] == 1

    run(main())


def test_a_unix_socket_and_metrics(tmp_path: Path) -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True, listen=UnixAddress(tmp_path / "s")) as source,
            running_peer("one", listen=UnixAddress(tmp_path / "o")) as one,
        ):
            assert address_of(source.name) == UnixAddress(tmp_path / "s")
            await one.join(source, "//b")
            await source.publish(b"<a><b/></a>")
            await until(one.deliveries)

            async def text() -> str:
                return metrics_text(one.service.status())

            server = MetricsServer(text)
            await server.start(LOCAL)
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(b"GET /metrics HTTP/1.1\r\n\r\n")
            answer = (await reader.read()).decode()
            writer.close()
            await server.close()
            assert "\npenstock_peer_delivered_total 1\n" in answer
            assert "\npenstock_peer_matched_total 1\n" in answer
            for name in ("unheld", "evicted", "emptied"):
                assert f"\npenstock_peer_{name}_total 0\n" in answer
            assert f'\npenstock_peer_position{{source="{source.name}"}} 1\n' in answer

    run(main())


def test_a_peer_that_cannot_be_reached_is_lost_at_once() -> None:
    async def main() -> None:
        async with AsyncExitStack() as stack:
            source = await stack.enter_async_context(
                running_peer("source", is_source=True, fan_out=1)
            )
            gone = AsyncExitStack()
            middle = await gone.enter_async_context(running_peer("middle", fan_out=1))
            await middle.join(source, "/a")
            below = await stack.enter_async_context(running_peer("below"))
            await below.join(source, "/a")
            await gone.aclose()  # Without leaving the tree.
            await source.publish(b"<a n='1'/>")
            await until(below.deliveries)
            assert below.service.status().trees[0].parent == source.name
            assert below.service.status().counters["orphaned"] == 1

    run(main())


def test_a_subscriber_without_room_holds_the_source_back(monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock.service.peer import outgoing_links

    monkeypatch.setattr(outgoing_links, "CONGESTED_MESSAGES", 5)
    # Nobody gives up on the subscriber while the test waits.
    monkeypatch.setattr(outgoing_links, "SLOW_SECONDS", 1_000.0)
    has_room = False

    async def main() -> None:
        nonlocal has_room
        async with (
            running_peer("source", is_source=True) as source,
            running_peer("one", has_room=lambda: has_room) as one,
        ):
            await one.join(source, "/a")
            contents = [f"<a n='{number}'/>".encode() for number in range(50)]
            publishing = asyncio.create_task(source.publish(*contents))
            await until(lambda: source.service.is_congested)
            assert len(one.deliveries()) < 50
            assert not publishing.done()
            has_room = True
            one.service.room_changed()
            await publishing
            await until(lambda: len(one.deliveries()) == 50)
            assert one.deliveries() == contents

    run(main())


def test_two_sources_and_a_peer_that_is_both() -> None:
    async def main() -> None:
        async with (
            running_peer("north", is_source=True) as north,
            running_peer("south", is_source=True) as south,
            running_peer("one") as one,
        ):
            await south.join(north, "/a")
            # The seed is in two trees, of one of which it is the source.
            await one.join(south, "/a")
            await until(lambda: len(one.service.peer.memberships) == 2)
            await until(
                lambda: all(
                    each.state is MembershipState.CONNECTED
                    for each in one.service.peer.memberships.values()
                )
            )
            await north.publish(b"<a n='north'/>")
            await south.publish(b"<a n='south'/>")
            await until(lambda: len(one.deliveries()) == 2)
            await until(south.deliveries)
            assert south.deliveries() == [b"<a n='north'/>"]

    run(main())


# Hostile peers


async def hostile_link(victim: RunningPeer, name: str, token: bytes | None = None) -> Link:
    """A link of somebody who claims a name."""
    options = peer_options("hostile").link_options(name)
    return await connect(victim.service.address, peer="", options=options, token=token)


def test_a_peer_changes_its_subscription() -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True, fan_out=1) as source,
            running_peer("above") as above,
            running_peer("below") as below,
        ):
            await above.join(source, "/a")
            await below.join(source, "/a")
            await source.publish(b"<a/>", b"<b/>")
            await until(lambda: len(below.deliveries()) == 1)
            connections = len(below.outputs)
            below.service.change_interest(below.service.model.interest(xpath=["/b"]))
            await until(
                lambda: any(isinstance(each, Connected) for each in below.outputs[connections:])
            )
            await source.publish(b"<a n='2'/>", b"<b n='2'/>")
            await until(lambda: len(below.deliveries()) == 2)
            assert below.deliveries() == [b"<a/>", b"<b n='2'/>"]
            assert above.deliveries() == [b"<a/>", b"<a n='2'/>"]

    run(main())


def has_received(peer: RunningPeer, count: int) -> bool:
    """Whether a peer has delivered some number of documents."""
    return len(peer.deliveries()) >= count


def has_links(peer: RunningPeer, *others: RunningPeer) -> bool:
    """Whether a peer has links to these and no other peers."""
    return set(peer.service.links.status()) == {each.name for each in others}


@pytest.mark.parametrize("count", [2, 3])
def test_a_peer_of_wider_interest_takes_the_place_of_its_parent(count: int) -> None:
    core = PeerOptions(
        fan_out=1, heartbeat_seconds=0.5, silence_seconds=30.0, reorganise_seconds=1.0
    )

    async def main() -> None:
        async with AsyncExitStack() as stack:
            source = await stack.enter_async_context(
                running_peer("source", is_source=True, peer=core)
            )
            queries = ("/a[@n = '0']", "/a", "/a[@n = '0']")[:count]
            peers = []
            for number, query in enumerate(queries):
                peer = await stack.enter_async_context(running_peer(f"p{number}", peer=core))
                await peer.join(source, query)
                peers.append(peer)

            def path(number: int) -> tuple[str, ...]:
                [tree] = peers[number].service.status().trees
                return tree.path

            assert path(1) == (source.name, peers[0].name)
            contents: list[bytes] = []

            async def publish(documents: int) -> None:
                first = len(contents)
                contents.extend(
                    f"<a n='{number % 4}' i='{number}'/>".encode()
                    for number in range(first, first + documents)
                )
                await source.publish(*contents[first:])

            await publish(40)
            await until(lambda: path(1) == (source.name,) and all(map(path, range(count))))
            moves = [each.service.status().counters["moves"] for each in peers]
            assert moves[1] >= 1
            await publish(40)
            for query, peer in zip(queries, peers, strict=True):
                wanted = [each for each in contents if query == "/a" or b"n='0'" in each]
                await until(partial(has_received, peer, len(wanted)))
                assert peer.deliveries() == wanted
                assert not any(isinstance(each, GapReported) for each in peer.outputs)
            assert path(0)[0] == source.name

    run(main())


def test_a_timer_whose_time_is_over() -> None:
    """As on a busy machine, where other things happen between the time and the tick."""

    async def main() -> None:
        async with running_peer("source", is_source=True) as source:
            membership = source.service.peer.membership(source.name)
            loop = asyncio.get_running_loop()
            heartbeats = membership.heartbeats
            heartbeats.heartbeat_at = loop.time() - 1.0
            interest = source.service.model.interest(xpath=["/a"])
            for other in ("one@127.0.0.1:9", "two@127.0.0.1:9"):
                source.service.join(other, interest)
            await until(lambda: (heartbeats.heartbeat_at or 0.0) > loop.time())

    run(main())


def test_links_past_the_limit_are_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was unused for the longest time, neighbours last."""
    from penstock.service.peer import outgoing_links

    monkeypatch.setattr(outgoing_links, "OUTGOING_LINKS_MAX", 2)

    async def main() -> None:
        async with AsyncExitStack() as stack:
            source = await stack.enter_async_context(running_peer("source", is_source=True))
            peers = [
                await stack.enter_async_context(running_peer(label))
                for label in ("child", "one", "two", "three", "four")
            ]
            child, one, two, three, four = peers
            await child.join(source, "/a")
            links = source.service.links
            message = MessageCodec(PatternModel()).encode(Seeds(source.name, peers=()))
            for other in (one, two):
                assert links.send(other.name, message)
                await until(partial(has_links, source, child, other))
            # Links that are being opened count, too.
            assert links.send(three.name, message)
            assert links.send(four.name, message)
            await until(partial(has_links, source, three, four))
            dropped = links.dropped
            for each in (one, two, child):
                assert links.send(each.name, message) == (each is not child)
            assert links.dropped == dropped + 1

    run(main())


def test_a_peer_joins_a_limited_number_of_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.service.peer.service.TREES_MAX", 1)

    async def main() -> None:
        async with (
            running_peer("north", is_source=True) as north,
            running_peer("south", is_source=True) as south,
            running_peer("one") as one,
        ):
            await one.join(north, "/a")
            with pytest.raises(OverlayError, match="at most 1 trees") as problem:
                await one.join(south, "/a")
            assert problem.value.code == "overlay.option"
            assert set(one.service.peer.memberships) == {north.name}

    run(main())


def test_malformed_messages_are_counted_and_ignored() -> None:
    async def main() -> None:
        async with (
            running_peer("source", is_source=True) as source,
            running_peer("one") as one,
        ):
            link = await hostile_link(source, "eve@127.0.0.1:9")
            codec = MessageCodec(PatternModel())
            buckets = MessageCodec(BucketModel())
            nobody = Add(
                source.name,
                joiner="nobody",
                join=1,
                seed=source.name,
                interest=PatternModel().interest(xpath=["/a"]),
                bitmap=None,
                is_compared=False,
                route=(),
                costs=(),
                excluded=(),
                hops=0,
            )
            far_away = Add(
                source.name,
                joiner="eve@192.0.2.1:80",
                join=1,
                seed=source.name,
                interest=nobody.interest,
                bitmap=None,
                is_compared=False,
                route=(),
                costs=(),
                excluded=(),
                hops=0,
            )
            for message in (
                Message(kind=64, body=b"\xff"),
                Message(kind=64, header=b"\x90", body=b"<a/>"),
                Message(kind=200, body=b"?"),
                buckets.encode(Seeds("x", peers=())),
                codec.encode(SeedsRequest(source.name)),
                codec.encode(nobody),
                codec.encode(far_away),
            ):
                assert link.try_send(message)
            await link.drain()
            await link.close()
            counters = source.service.status().counters
            assert counters["malformed"] == 3
            assert counters["failed"] == 0
            # Without a token, no connection leaves this machine; a name without address has none.
            assert counters["dropped"] == 2
            await one.join(source, "/a")
            await source.publish(b"<a/>")
            await until(one.deliveries)

    run(main())


def test_clients_that_ask_are_no_peers() -> None:
    async def main() -> None:
        async with running_peer("source", is_source=True) as source:
            link = await hostile_link(source, "client-eve")
            link.try_send(MessageCodec(PatternModel()).encode(SeedsRequest(source.name)))
            await link.drain()
            await link.close()
            assert source.service.status().counters["malformed"] == 1

    run(main())


def test_links_of_peers_can_be_encrypted(tmp_path: Path) -> None:
    authority, other = (Authority.create(tmp_path, name) for name in ("authority", "other"))

    def secured(name: str, trusted: Authority = authority) -> dict[str, object]:
        certificate, key = trusted.sign(name)
        return {
            "token": TOKEN,
            "server_tls": ServerTls(certificate=certificate, key=key),
            "client_tls": ClientTls(authorities=trusted.path),
        }

    async def main() -> None:
        async with (
            running_peer("source", is_source=True, fan_out=1, **secured("source")) as source,
            running_peer("one", fan_out=1, **secured("one")) as one,
            running_peer("two", **secured("two")) as two,
        ):
            await one.join(source, "/a")
            await two.join(source, "/b")
            await source.publish(b"<a/>", b"<b/>")
            await until(lambda: one.deliveries() and two.deliveries())
            assert two.service.status().trees[0].path == (source.name, one.name)
            # Whoever trusts another authority, or uses no encryption, is not answered.
            for values in (secured("eve", other), {"token": TOKEN}):
                with pytest.raises(OverlayError) as caught:
                    await ask_peer(source.service.address, peer_options("eve", **values))
                assert caught.value.code == "overlay.unreachable"

    run(main())


def test_another_token_is_refused() -> None:
    async def main() -> None:
        async with running_peer("source", is_source=True, token=TOKEN) as source:
            for other in (peer_options("eve"), peer_options("eve", token=b"fedcba9876543210")):
                with pytest.raises(OverlayError) as caught:
                    await ask_peer(source.service.address, other)
                assert caught.value.code == "overlay.unreachable"

    run(main())


def test_nobody_answers() -> None:
    async def main() -> None:
        async with running_peer("gone") as gone:
            address = gone.service.address
        with pytest.raises(OverlayError) as caught:
            await ask_peer(address, peer_options("eve"))
        assert caught.value.code == "overlay.unreachable"

    run(main())


def test_a_port_that_is_used_is_reported() -> None:
    async def main() -> None:
        async with running_peer("one") as one:
            with pytest.raises(OverlayError) as caught:
                async with running_peer("two", listen=one.service.address):
                    pass
            assert caught.value.code == "overlay.listen"

    run(main())


def test_a_document_that_is_too_long_is_refused() -> None:
    async def main() -> None:
        async with running_peer("source", is_source=True) as source:
            content = b" " * (PUBLISHED_DOCUMENT_BYTES_MAX + 1)
            with pytest.raises(OverlayError) as caught:
                await source.service.publish(Document(content, Header(publisher="test")))
            assert caught.value.code == "overlay.document"

    run(main())


@pytest.mark.parametrize("encoded", [b"", b"[]", b"{", b'{"name":""}', b"\xff", b"[" * 100_000])
def test_a_malformed_status_is_refused(encoded: bytes) -> None:
    with pytest.raises(OverlayError) as caught:
        decode_status(encoded)
    assert caught.value.code == "overlay.message"


# Options


@pytest.mark.parametrize(
    "name", ["", "ada", "@127.0.0.1:1", "ada@", "ada@host", "ada@host:x", "ada@host:70000"]
)
def test_names_without_an_address(name: str) -> None:
    with pytest.raises(OverlayError) as caught:
        address_of(name)
    assert caught.value.code == "overlay.peer-name"


@pytest.mark.parametrize(
    "address", [TcpAddress("::1", 7), TcpAddress("host.example", 7), UnixAddress(Path("/a/b"))]
)
def test_names_have_their_address(address: TcpAddress | UnixAddress) -> None:
    assert address_of(peer_name("ada", address)) == address


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ({"label": "a b"}, "overlay.option"),
        ({"insecure": False}, "overlay.insecure"),
        ({"listen": TcpAddress("192.0.2.1", 0)}, "overlay.insecure"),
        ({"advertise": TcpAddress("192.0.2.1", 0)}, "overlay.insecure"),
        ({"listen": TcpAddress("0.0.0.0", 0), "token": TOKEN}, "overlay.option"),
        ({"token": b"short"}, "link.option"),
    ],
)
def test_wrong_options(values: dict[str, object], code: str) -> None:
    defaults: dict[str, object] = {"label": "ada", "listen": LOCAL, "insecure": True}
    with pytest.raises(Exception, match=r".") as caught:
        PeerServiceOptions(**{**defaults, **values})  # type: ignore[arg-type]
    assert getattr(caught.value, "code", "") == code


@pytest.mark.parametrize("content", ["", "00" * 15, "xy" * 16, "00" * 3_000, "\u00e9"])
def test_a_malformed_token_file_is_refused_without_quoting_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "token"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(OverlayError) as caught:
        read_token(path)
    assert caught.value.code == "overlay.token-file"
    assert not content or content not in str(caught.value)
    path.write_text("0a" * 16 + "\n")
    assert read_token(path) == b"\n" * 16


def test_a_group_token_is_every_names() -> None:
    tokens = GroupToken(TOKEN)
    assert tokens["ada"] == tokens.get("bob") == TOKEN
    assert not list(tokens)
    assert len(tokens) == 0


# Documents of a source


def test_lines_are_documents() -> None:
    async def main() -> list[bytes]:
        stream = io.BytesIO(b"<a/>\r\n\n<b/>")
        return [each.read() async for each in documents_of_lines(stream)]

    assert run(main()) == [b"<a/>", b"<b/>"]


def test_files_that_are_moved_into_a_folder(tmp_path: Path) -> None:
    async def main() -> None:
        (tmp_path / "b.xml").write_bytes(b"<b/>")
        (tmp_path / "a.xml").write_bytes(b"<a/>")
        (tmp_path / ".hidden").write_bytes(b"<h/>")
        (tmp_path / "folder").mkdir()
        found = documents_in(tmp_path)
        assert [(await anext(found)).read(), (await anext(found)).read()] == [b"<a/>", b"<b/>"]
        (tmp_path / ".hidden").rename(tmp_path / "0.xml")
        assert (await anext(found)).read() == b"<h/>"

    run(main())
