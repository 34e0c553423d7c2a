"""The driver on real sockets: TCP, Unix, TLS; proxies that cut, hostile and slow peers."""

from __future__ import annotations

import asyncio
import random
import socket
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from penstock.errors import LinkError, LocalLinkError
from penstock.links import (
    Address,
    BackOff,
    ClientTls,
    Closed,
    Established,
    Link,
    LinkEvent,
    LinkLimits,
    LinkOptions,
    Message,
    MessageReceived,
    Server,
    ServerTls,
    SessionReset,
    TcpAddress,
    UnixAddress,
    connect,
    run,
    serve,
)
from penstock.links.frames import PREAMBLE, PREFIX, FrameType
from support.links.certificates import Authority
from support.links.fake_link import TOKEN
from support.links.faulty_proxy import FaultyProxy

T = TypeVar("T")
E = TypeVar("E", bound=LinkEvent)

LOCAL = TcpAddress("127.0.0.1", 0)
SECONDS_MAX = 60.0
"""Far more than any test needs; a test that waits for ever fails."""


def bounded(main: Coroutine[Any, Any, T]) -> T:
    async def within() -> T:
        async with asyncio.timeout(SECONDS_MAX):
            result = await main
        # Nothing goes on behind the back of whoever closed everything.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        assert not left, left
        return result

    return run(within())


def options(name: str, **changes: object) -> LinkOptions:
    made = LinkOptions(
        name=name, heartbeat_seconds=0.2, heartbeat_timeout_seconds=5.0, close_seconds=1.0
    )
    return replace(made, **changes)  # type: ignore[arg-type]


CLIENT = options("client")
SERVER = options("server")


def quick() -> BackOff:
    return BackOff(random.Random(1), first_seconds=0.01, seconds_max=0.1)


class Store:
    """A handler that keeps what it receives."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.events: list[LinkEvent] = []
        self.changed = asyncio.Event()
        self.open = asyncio.Event()
        self.open.set()

    async def __call__(self, link: Link) -> None:
        while True:
            event = await link.receive()
            self.events.append(event)
            self.changed.set()
            if isinstance(event, MessageReceived):
                await self.open.wait()
                self.bodies.append(event.message.body)
                link.acknowledge(event)

    async def wait_for(self, done: Callable[[], object]) -> None:
        while not done():
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def client_of(
    address: Address,
    *,
    options: LinkOptions = CLIENT,
    token: bytes = TOKEN,
    tls: ClientTls | None = None,
    back_off: BackOff | None = None,
) -> AsyncIterator[Link]:
    link = await connect(
        address,
        peer="server",
        options=options,
        token=token,
        tls=tls,
        back_off=back_off or quick(),
    )
    try:
        yield link
    finally:
        await link.close()


@asynccontextmanager
async def server_for(
    handler: Callable[[Link], Awaitable[None]],
    address: Address = LOCAL,
    *,
    options: LinkOptions = SERVER,
    tls: ServerTls | None = None,
) -> AsyncIterator[Server]:
    server = await serve(address, handler, options=options, tokens={"client": TOKEN}, tls=tls)
    async with server:
        yield server


async def next_of(link: Link, kind: type[E]) -> E:
    while True:
        event = await link.receive()
        if isinstance(event, kind):
            return event


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority.create(tmp_path_factory.mktemp("certificates"), "authority")


def tls(authority: Authority, name: str = "server") -> ServerTls:
    certificate, key = authority.sign(name)
    return ServerTls(certificate=certificate, key=key)


async def exchange(
    address: Address, *, server_tls: ServerTls | None = None, tls: ClientTls | None = None
) -> None:
    """Sends messages of many sizes to a server that sends them back."""
    bodies = [b"", b"x", b"y" * 20_000, b"z" * 300_000, b"w" * 2_000_000]

    async def echo(link: Link) -> None:
        while True:
            event = await next_of(link, MessageReceived)
            assert link.authenticated
            await link.send(event.message)
            link.acknowledge(event)

    async with (
        server_for(echo, address, tls=server_tls) as server,
        client_of(server.address, tls=tls) as link,
    ):
        for body in bodies:
            await link.send(Message(header=b"h", body=body, kind=3))
        for body in bodies:
            event = await next_of(link, MessageReceived)
            assert event.message == Message(header=b"h", body=body, kind=3)
            link.acknowledge(event)
        await link.drain()
        assert link.authenticated
        assert link.counters().messages_sent == len(bodies)


def test_tcp() -> None:
    bounded(exchange(LOCAL))


def test_the_event_loop_of_asyncio_serves_too() -> None:
    asyncio.run(exchange(LOCAL))


def test_unix_sockets_are_their_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "link.socket"
    with socket.socket(socket.AF_UNIX) as left_by_a_killed_process:
        left_by_a_killed_process.bind(str(path))

    async def main() -> None:
        async with server_for(Store(), UnixAddress(path)):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        await exchange(UnixAddress(path))
        assert not path.exists()

    bounded(main())


def test_tls(authority: Authority) -> None:
    client = ClientTls(authorities=authority.path)
    bounded(exchange(LOCAL, server_tls=tls(authority), tls=client))


def test_tls_over_a_unix_socket_needs_the_name(authority: Authority, tmp_path: Path) -> None:
    address = UnixAddress(tmp_path / "link.socket")
    with pytest.raises(LocalLinkError) as caught:
        bounded(
            exchange(address, server_tls=tls(authority), tls=ClientTls(authorities=authority.path))
        )
    assert caught.value.code == "link.option"
    named = ClientTls(authorities=authority.path, server_hostname="server")
    bounded(exchange(address, server_tls=tls(authority), tls=named))


async def first_failure(
    server: Server, *, token: bytes = TOKEN, tls: ClientTls | None = None
) -> Closed:
    async with client_of(server.address, token=token, tls=tls) as link:
        return await next_of(link, Closed)


def test_a_certificate_of_another_authority_or_name_is_refused(
    authority: Authority, tmp_path: Path
) -> None:
    other = Authority.create(tmp_path, "other")

    async def main() -> None:
        async with server_for(Store(), tls=tls(authority)) as server:
            for client in (
                ClientTls(authorities=other.path),
                ClientTls(authorities=authority.path, server_hostname="another"),
            ):
                closed = await first_failure(server, tls=client)
                assert closed.error is not None
                assert closed.error.code == "link.unreachable"
                assert "certificate verify failed" in str(closed.error)
            assert not server.links

    bounded(main())


def test_a_server_can_require_certificates_of_clients(authority: Authority) -> None:
    certificate, key = authority.sign("client")
    demanding = tls(authority)
    demanding = ServerTls(
        certificate=demanding.certificate, key=demanding.key, client_authorities=authority.path
    )
    with_certificate = ClientTls(authorities=authority.path, certificate=certificate, key=key)

    async def main() -> None:
        async with server_for(Store(), tls=demanding) as server:
            closed = await first_failure(server, tls=ClientTls(authorities=authority.path))
            assert closed.error is not None
            async with client_of(server.address, tls=with_certificate) as link:
                assert (await next_of(link, Established)).authenticated

    bounded(main())


def test_without_tls_a_server_with_tls_is_not_reached(authority: Authority) -> None:
    async def main() -> None:
        async with server_for(Store(), tls=tls(authority)) as server:
            closed = await first_failure(server)
            assert closed.error is not None
            assert closed.error.code in {"link.lost", "link.preamble"}

    bounded(main())


def test_a_wrong_token_is_refused_and_counted_and_a_right_one_is_not() -> None:
    async def main() -> None:
        async with server_for(Store()) as server:
            closed = await first_failure(server, token=TOKEN[::-1])
            assert closed.peer_code == "link.authentication"
            assert isinstance(closed.error, LocalLinkError)
            assert server.refused["link.authentication"] >= 1
            assert not server.links
            async with client_of(server.address) as link:
                assert (await next_of(link, Established)).authenticated

    bounded(main())


def test_a_client_waits_for_a_server_that_starts_later() -> None:
    async def main() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = TcpAddress("127.0.0.1", free.getsockname()[1])
        async with client_of(address) as link:
            closed = await next_of(link, Closed)
            assert closed.error is not None
            assert closed.error.code == "link.unreachable"
            await link.send(Message(body=b"early"))
            store = Store()
            async with server_for(store, address):
                await link.drain()
            assert store.bodies == [b"early"]

    bounded(main())


@pytest.mark.parametrize("with_tls", [False, True])
def test_connections_that_are_cut_in_the_middle_of_frames_are_resumed(
    with_tls: bool, authority: Authority
) -> None:
    rng = random.Random(5)
    bodies = [rng.randbytes(rng.choice([10, 3_000, 90_000])) for _ in range(150)]

    async def main() -> None:
        store = Store()
        server_tls = tls(authority) if with_tls else None
        client_tls = ClientTls(authorities=authority.path) if with_tls else None
        async with server_for(store, tls=server_tls) as server:
            assert isinstance(server.address, TcpAddress)
            async with (
                FaultyProxy(server.address, rng, cut_after_bytes=700_000) as proxy,
                client_of(proxy.address, tls=client_tls) as link,
            ):
                for body in bodies:
                    await link.send(Message(body=body))
                await link.drain()
                assert proxy.cuts > 3
                assert link.counters().connections == proxy.connections
                assert link.counters().resets == 0
        assert store.bodies == bodies
        assert sum(isinstance(event, SessionReset) for event in store.events) == 0

    bounded(main())


# Only one side notices in time: if both could, the faster one would cut the other one off.
NOTICES = {"heartbeat_seconds": 0.1, "heartbeat_timeout_seconds": 0.5}
WAITS = {"heartbeat_seconds": 0.1, "heartbeat_timeout_seconds": 2 * SECONDS_MAX}


def test_a_client_notices_a_half_open_connection() -> None:
    async def main() -> None:
        store = Store()
        async with server_for(store, options=options("server", **WAITS)) as server:
            assert isinstance(server.address, TcpAddress)
            async with (
                FaultyProxy(server.address) as proxy,
                client_of(proxy.address, options=options("client", **NOTICES)) as link,
            ):
                await link.send(Message(body=b"before"))
                await link.drain()
                proxy.silent = True
                closed = await next_of(link, Closed)
                assert closed.error is not None
                assert closed.error.code == "link.heartbeat-timeout"
                proxy.silent = False
                await link.send(Message(body=b"after"))
                await link.drain()
        assert store.bodies == [b"before", b"after"]

    bounded(main())


def test_a_server_notices_a_half_open_connection() -> None:
    async def main() -> None:
        store = Store()

        def reasons() -> set[str]:
            return {e.error.code for e in store.events if isinstance(e, Closed) and e.error}

        async with server_for(store, options=options("server", **NOTICES)) as server:
            assert isinstance(server.address, TcpAddress)
            async with (
                FaultyProxy(server.address) as proxy,
                client_of(proxy.address, options=options("client", **WAITS)) as link,
            ):
                await link.send(Message(body=b"before"))
                await link.drain()
                proxy.silent = True
                await store.wait_for(lambda: "link.heartbeat-timeout" in reasons())
                # A new connection may have lost the beginning of its handshake.
                proxy.cut_all()
                proxy.silent = False
                await link.send(Message(body=b"after"))
                await link.drain()
        assert store.bodies == [b"before", b"after"]

    bounded(main())


def test_heartbeats_get_through_a_saturated_link() -> None:
    """Heartbeats that are sent after megabytes of payload are answered long before it arrives."""
    silent = options("server", **WAITS | {"heartbeat_seconds": SECONDS_MAX})

    async def main() -> None:
        store = Store()
        async with server_for(store, options=silent) as server:
            assert isinstance(server.address, TcpAddress)
            async with (
                FaultyProxy(server.address, bytes_per_second=2_000_000) as proxy,
                client_of(proxy.address, options=options("client", **WAITS)) as link,
            ):
                await next_of(link, Established)
                before = link.counters().frames_received
                await link.send(Message(body=b"x" * 8_000_000))
                # Until it has the whole message, the server sends nothing but replies.
                while link.counters().frames_received < before + 3:
                    await asyncio.sleep(0.01)
                assert store.bodies == []
                proxy.bytes_per_second = 0
                await link.drain()
                reasons = [event for event in link._events if isinstance(event, Closed)]
                assert (proxy.connections, reasons) == (1, [])
        assert list(map(len, store.bodies)) == [8_000_000]

    bounded(main())


def test_a_slow_consumer_holds_the_sender_back_and_loses_nothing() -> None:
    limits = LinkLimits(window_messages=10)

    async def main() -> None:
        store = Store()
        store.open.clear()
        async with (
            server_for(store, options=options("server", limits=limits)) as server,
            client_of(server.address, options=options("client", limits=limits)) as link,
        ):
            sending = asyncio.create_task(send_all(link, 100))
            await store.wait_for(lambda: any(isinstance(e, MessageReceived) for e in store.events))
            # Several heartbeats later: the link is alive, and the sender waits.
            while link.counters().frames_received < 20:
                await next_of_or_timeout(link)
            counters = link.counters()
            assert counters.unacknowledged_messages == 10
            assert not sending.done()
            store.open.set()
            await sending
            await link.drain()
        assert store.bodies == [b"%d" % number for number in range(100)]

    bounded(main())


async def next_of_or_timeout(link: Link) -> None:
    try:
        async with asyncio.timeout(0.05):
            await link.receive()
    except TimeoutError:
        pass


async def send_all(link: Link, count: int) -> None:
    for number in range(count):
        await link.send(Message(body=b"%d" % number))


def test_the_policy_disconnect_ends_the_connection_with_a_reason() -> None:
    limits = LinkLimits(window_messages=2)
    impatient = options(
        "client", limits=limits, slow_consumer="disconnect", slow_consumer_seconds=0.2
    )

    async def main() -> None:
        store = Store()
        store.open.clear()
        async with (
            server_for(store) as server,
            client_of(server.address, options=impatient) as link,
        ):
            sending = asyncio.create_task(send_all(link, 5))
            closed = await next_of(link, Closed)
            assert closed.error is not None
            assert closed.error.code == "link.slow-consumer"
            store.open.set()
            await sending
            await link.drain()
            peer_codes = [e.peer_code for e in store.events if isinstance(e, Closed)]
        assert "link.slow-consumer" in peer_codes
        assert store.bodies == [b"0", b"1", b"2", b"3", b"4"]

    bounded(main())


def test_lost_state_reaches_the_application_before_it_can_send_again() -> None:
    async def main() -> None:
        store = Store()
        async with server_for(store) as server:
            address = server.address
            link = await connect(
                address, peer="server", options=options("client"), token=TOKEN, back_off=quick()
            )
            await link.send(Message(body=b"1"))
            await link.drain()
            store.open.clear()
            await link.send(Message(body=b"2"))
            await store.wait_for(
                lambda: sum(isinstance(e, MessageReceived) for e in store.events) == 2
            )
        forgetful = Store()
        async with server_for(forgetful, address):
            sending = asyncio.create_task(link.send(Message(body=b"3")))
            reset = await next_of(link, SessionReset)
            assert Message(body=b"2") in reset.unacknowledged
            for message in reset.unacknowledged:
                await link.send(message)
            await sending
            await link.drain()
            assert not (await next_of(link, Established)).resumed
            await link.close()
        assert sorted(forgetful.bodies)[0] == b"2"

    bounded(main())


def test_a_message_is_stored_before_it_can_leave() -> None:
    async def main() -> None:
        stored: list[tuple[bytes, int, Message]] = []

        def keep(session_id: bytes, sequence: int, message: Message) -> None:
            assert link.session.sent == sequence - 1, "it is not in the send buffer yet"
            stored.append((session_id, sequence, message))

        def fail(*_: object) -> None:
            raise OSError("disk full")

        store = Store()
        async with server_for(store) as server, client_of(server.address) as link:
            await link.send(Message(body=b"1"), store=keep)
            with pytest.raises(OSError, match="disk full"):
                await link.send(Message(body=b"2"), store=fail)
            await link.send(Message(body=b"3"), store=keep)
            await link.drain()
            assert [(number, m.body) for _, number, m in stored] == [(1, b"1"), (2, b"3")]
            assert link.session.state().acknowledged == 2
            [of_server] = server.states().values()
            assert (of_server.session_id, of_server.stored) == (link.session.id, 2)
        assert store.bodies == [b"1", b"3"]

    bounded(main())


def test_a_message_is_stored_with_the_id_of_the_session_in_which_it_leaves() -> None:
    async def main() -> None:
        stored: list[bytes] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = TcpAddress("127.0.0.1", free.getsockname()[1])
        async with client_of(address) as link:
            early = Message(body=b"early")
            sending = asyncio.create_task(
                link.send(early, store=lambda session_id, *_: stored.append(session_id))
            )
            await next_of(link, Closed)
            store = Store()
            async with server_for(store, address):
                assert await sending == 1
                await link.drain()
                assert stored == [link.session.id]
                assert link.session.id
        assert store.bodies == [b"early"]

    bounded(main())


def test_drain_does_not_return_before_the_application_knows_of_a_reset() -> None:
    async def main() -> None:
        store = Store()
        store.open.clear()
        async with server_for(store) as server:
            address = server.address
            link = await connect(
                address, peer="server", options=CLIENT, token=TOKEN, back_off=quick()
            )
            await link.send(Message(body=b"1"))
            await store.wait_for(lambda: any(isinstance(e, MessageReceived) for e in store.events))
        draining = asyncio.create_task(link.drain())
        forgetful = Store()
        async with server_for(forgetful, address):
            await forgetful.wait_for(lambda: forgetful.events)
            await asyncio.sleep(0.05)
            assert not draining.done()
            reset = await next_of(link, SessionReset)
            assert reset.unacknowledged == (Message(body=b"1"),)
            await draining
            await link.close()

    bounded(main())


def test_a_peer_that_returns_while_its_link_is_being_closed_gets_a_new_handler() -> None:
    async def main() -> None:
        store = Store()
        calls: list[Link] = []
        ends = asyncio.Event()

        async def ends_once(link: Link) -> None:
            calls.append(link)
            if len(calls) == 1:
                await ends.wait()
            else:
                await store(link)

        async with server_for(ends_once) as server:
            assert isinstance(server.address, TcpAddress)
            async with FaultyProxy(server.address) as proxy, client_of(proxy.address) as former:
                while not calls:
                    await asyncio.sleep(0.01)
                # Half-open: nobody answers the Close of the server.
                proxy.silent = True
                ends.set()
                await asyncio.sleep(0.05)
                assert former.connected
                assert calls[0] in server.links
                # The peer's process was restarted, and connects again meanwhile.
                async with client_of(server.address) as link:
                    await next_of(link, Established)
                    while calls[0] in server.links:
                        await asyncio.sleep(0.01)
                    await link.send(Message(body=b"1"))
                    await link.drain()
        assert store.bodies == [b"1"]

    bounded(main())


def test_a_connection_whose_tls_handshake_ends_after_the_server_was_closed_is_refused(
    authority: Authority,
) -> None:
    async def main() -> None:
        certificate, key = authority.sign("localhost")
        tls = ServerTls(certificate=certificate, key=key)
        server = await serve(LOCAL, Store(), options=SERVER, tokens={"client": TOKEN}, tls=tls)
        assert isinstance(server.address, TcpAddress)
        with socket.create_connection(("127.0.0.1", server.address.port)) as sock:
            sock.setblocking(False)
            await asyncio.sleep(0.1)  # the server accepts it
            closing = asyncio.create_task(server.close())
            await asyncio.sleep(0.05)
            context = ClientTls(authorities=authority.path).context()
            reader, writer = await asyncio.open_connection(
                sock=sock, ssl=context, server_hostname="localhost"
            )
            assert await read_to_end(reader) == b""
            writer.transport.abort()
            await closing

    bounded(main())


@pytest.mark.parametrize("address", [TcpAddress("a" * 70, 1), TcpAddress("127.0.0.1", 1 << 16)])
def test_an_address_that_cannot_exist_is_reported(address: TcpAddress) -> None:
    async def main() -> None:
        async with client_of(address) as link:
            closed = await next_of(link, Closed)
            assert closed.error is not None
            assert closed.error.code == "link.unreachable"

    bounded(main())


def test_messages_of_an_authenticated_peer_stay_authenticated_when_it_has_gone() -> None:
    async def main() -> None:
        seen = asyncio.Event()
        found: list[tuple[bool, bool]] = []

        async def reads_late(link: Link) -> None:
            assert link.authenticated
            await seen.wait()
            while link.connected:
                await asyncio.sleep(0.01)
            await next_of(link, MessageReceived)
            found.append((link.connected, link.authenticated))

        async with server_for(reads_late) as server:
            async with client_of(server.address) as link:
                await link.send(Message(body=b"1"))
                while not (server.links and server.links[0].session.received):
                    await asyncio.sleep(0.01)
                seen.set()
            while not found:
                await asyncio.sleep(0.01)
        assert found == [(False, True)]

    bounded(main())


def test_a_closed_link_says_so_to_whoever_waits() -> None:
    async def main() -> None:
        async with server_for(Store()) as server:
            async with client_of(server.address) as link:
                await next_of(link, Established)
                receiving = asyncio.create_task(link.receive())
                await asyncio.sleep(0)
            for waiting in (receiving, link.send(Message()), link.receive()):
                with pytest.raises(LinkError) as caught:
                    await waiting
                assert caught.value.code == "link.closed"

    bounded(main())


def test_closing_a_server_ends_connections_without_an_error() -> None:
    async def main() -> None:
        store = Store()
        async with server_for(store) as server:
            link = await connect(
                server.address,
                peer="server",
                options=options("client"),
                token=TOKEN,
                back_off=quick(),
            )
            await store.wait_for(lambda: store.events)
        closed = await next_of(link, Closed)
        assert closed == Closed(error=None)
        assert not link.connected
        await link.close()

    bounded(main())


def test_a_handler_that_fails_gets_its_messages_again(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> None:
        attempts: list[bytes] = []
        done = asyncio.Event()

        async def fails_once(link: Link) -> None:
            while True:
                event = await next_of(link, MessageReceived)
                attempts.append(event.message.body)
                if attempts == [b"1"]:
                    raise ValueError("a defect of the handler")
                link.acknowledge(event)
                if event.sequence == 2:
                    done.set()

        async with server_for(fails_once) as server, client_of(server.address) as link:
            await link.send(Message(body=b"1"))
            await link.send(Message(body=b"2"))
            await done.wait()
            await link.drain()
        assert attempts == [b"1", b"1", b"2"]

    bounded(main())
    assert "the handler of client failed" in caplog.text


def test_events_about_connections_that_nobody_reads_are_bounded() -> None:
    async def main() -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            address = TcpAddress("127.0.0.1", free.getsockname()[1])
        soon = BackOff(random.Random(1), first_seconds=0.001, seconds_max=0.001)
        async with client_of(address, back_off=soon) as link:
            while link.counters().status_events_discarded < 10:
                await asyncio.sleep(0.01)
            assert len(link._events) == 64

    bounded(main())


def test_peers_that_lose_their_state_again_and_again_do_not_fill_the_memory() -> None:
    """Each of their sessions may leave a window of messages that the application does not read."""
    window = options("server", limits=LinkLimits(window_messages=3))

    async def main() -> None:
        links: list[Link] = []
        reads = asyncio.Event()
        store = Store()

        async def reads_late(link: Link) -> None:
            links.append(link)
            await reads.wait()
            await store(link)

        async with server_for(reads_late, options=window) as server:
            for _ in range(8):
                async with client_of(server.address) as link:
                    for number in range(3):
                        await link.send(Message(body=b"%d" % number))
                    # Until everything has arrived, or the server has closed the connection.
                    while link.session.transmitted < 3 and not isinstance(
                        await link.receive(), Closed
                    ):
                        pass
                    await asyncio.sleep(0.05)
            [of_server] = links
            kinds = [type(event) for event in of_server._events]
            assert kinds.count(SessionReset) == 2
            assert kinds.count(MessageReceived) <= 3 * 3
            reads.set()
            async with client_of(server.address) as link:
                await link.send(Message(body=b"last"))
                await link.drain()
        assert store.bodies[-1] == b"last"

    bounded(main())


# Hostile peers


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "link.preamble"),
        (PREAMBLE + PREFIX.pack((1 << 32) - 1, FrameType.HELLO), "link.frame-bytes"),
        (PREAMBLE + PREFIX.pack(0, FrameType.HELLO), "link.frame-payload"),
        (PREAMBLE + PREFIX.pack(1, FrameType.BODY) + b"x", "link.unexpected-frame"),
    ],
)
def test_hostile_bytes_end_the_connection_and_are_counted(data: bytes, code: str) -> None:
    async def main() -> None:
        store = Store()
        async with server_for(store) as server:
            assert isinstance(server.address, TcpAddress)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
            writer.write(data)
            answer = await read_to_end(reader)
            assert code.encode() in answer
            writer.close()
            await writer.wait_closed()
            assert server.refused == {code: 1}
            async with client_of(server.address) as link:
                await next_of(link, Established)

    bounded(main())


def test_connections_in_handshakes_make_room_and_established_ones_do_not() -> None:
    full = options("server", handshake_seconds=1_000.0, limits=LinkLimits(connections=3))

    async def main() -> None:
        async with server_for(Store(), options=full) as server:
            assert isinstance(server.address, TcpAddress)
            port = server.address.port
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            async with client_of(server.address) as link:
                await next_of(link, Established)
                silent += [await asyncio.open_connection("127.0.0.1", port) for _ in range(9)]
                for reader, writer in silent[:-2]:
                    await read_to_end(reader)
                    writer.close()
                assert server.refused["connections"] == 10
                assert len(server._protocols) == 3
                await link.send(Message(body=b"1"))
                await link.drain()
                assert link.counters().connections == 1
            for _, writer in silent[-2:]:
                writer.close()

    bounded(main())


def test_more_connections_than_the_limit_are_closed() -> None:
    async def main() -> None:
        store = Store()
        one = options("server", limits=LinkLimits(connections=1))
        async with server_for(store, options=one) as server, client_of(server.address):
            await store.wait_for(lambda: store.events)
            assert isinstance(server.address, TcpAddress)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
            assert await read_to_end(reader) == b""
            writer.close()
            assert server.refused == {"connections": 1}

    bounded(main())


def test_slow_handshakes_time_out() -> None:
    patient = options("server", handshake_seconds=0.3)

    async def main() -> None:
        async with server_for(Store(), options=patient) as server:
            assert isinstance(server.address, TcpAddress)
            opened = [
                await asyncio.open_connection("127.0.0.1", server.address.port) for _ in range(5)
            ]
            for byte in PREAMBLE[:-1]:
                for _, writer in opened:
                    if not writer.is_closing():
                        writer.write(bytes([byte]))
                await asyncio.sleep(0.05)
            for reader, writer in opened:
                await read_to_end(reader)
                writer.close()
            assert server.refused["link.handshake-timeout"] == 5
            async with client_of(server.address) as link:
                await next_of(link, Established)

    bounded(main())


def test_tls_handshakes_that_never_end_time_out(authority: Authority) -> None:
    patient = options("server", handshake_seconds=0.3)

    async def main() -> None:
        async with server_for(Store(), options=patient, tls=tls(authority)) as server:
            assert isinstance(server.address, TcpAddress)
            # One says nothing, the other begins a record and says no more.
            for said in (b"", b"\x16\x03\x01"):
                reader, writer = await asyncio.open_connection("127.0.0.1", server.address.port)
                writer.write(said)
                await read_to_end(reader)
                writer.close()
            assert not server._protocols
            client = ClientTls(authorities=authority.path)
            async with client_of(server.address, tls=client) as link:
                await next_of(link, Established)

    bounded(main())


def test_a_peer_that_never_reads_is_left_after_the_time_out() -> None:
    """Its connection stays open and takes nothing: neither payload nor heartbeats get through."""
    leaves = options("client", **NOTICES, close_seconds=0.2)

    async def main() -> None:
        store = Store()
        async with server_for(store, options=options("server", **WAITS)) as server:
            assert isinstance(server.address, TcpAddress)
            async with (
                FaultyProxy(server.address) as proxy,
                client_of(proxy.address, options=leaves) as link,
            ):
                await next_of(link, Established)
                proxy.bytes_per_second = 1
                for _ in range(10):
                    await link.send(Message(body=b"x" * 1_000_000))
                closed = await next_of(link, Closed)
                assert closed.error is not None
                assert closed.error.code == "link.heartbeat-timeout"
                proxy.bytes_per_second = 0
                await link.drain()
        assert len(store.bodies) == 10

    bounded(main())
