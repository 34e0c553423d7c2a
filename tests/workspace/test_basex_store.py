"""The store in BaseX: the contract of stores, a server that is killed, and what is refused."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from penstock.errors import SyncError, WorkspaceError
from penstock.service.sync import SyncConnection
from penstock.sync import Client, Server, StateChanges, SyncSubscription
from penstock.workspace import basex_session
from penstock.workspace.basex_session import BasexServer, BasexSession
from penstock.workspace.basex_sync_store import PREFIX, BasexSyncStore, stored_documents
from support.contracts.native_engines import needs_native
from support.service.running_basex import RunningBasex, needs_basex
from support.service.running_sync_server import running_sync_server
from support.sync.store_contract import check_that_a_stored_state_is_what_was_written

pytestmark = needs_native

_NUMBERS = count()


@pytest.fixture(scope="module")
def basex(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBasex]:
    """One server for the tests of this file."""
    running = RunningBasex(tmp_path_factory.mktemp("basex"))
    yield running
    running.kill()


@pytest.fixture
def name() -> str:
    """A document that the server does not have."""
    return f"document-{next(_NUMBERS)}"


def rounds(store: BasexSyncStore, number: int) -> Iterator[int]:
    """Stores a statement a round, and yields the number of each when it is acknowledged."""
    state = store.load()
    server = Server.of_document(b"<r/>", horizon=8) if state is None else Server(state, horizon=8)
    store.write(server.take_changes())
    known = server.client("one")
    client = Client("one", SyncSubscription("/*"))
    if known is not None:
        client._clone_number = known.clone_number
        client._next_number = known.decided + 1
    for _ in range(number):
        server.receive(client.request())
        messages = server.round()
        store.write(server.take_changes())
        for message in messages:
            client.receive(message)
            record = server.client("one")
            assert record is not None
            yield record.decided
        client.update(f"/r!insert(n/'{client._next_number}')")


def decided(basex: RunningBasex, name: str) -> int:
    """The number of the last decided statement, after a check that the document has them all."""
    with closing(BasexSyncStore(basex.server, name)) as store:
        state = store.load()
    assert state is not None
    server = Server(state, horizon=8)
    record = server.client("one")
    assert record is not None
    numbers = b"".join(b"<n>%d</n>" % at for at in range(1, record.decided + 1))
    assert server.tree.canonical_xml() == b"<r>%s</r>" % numbers
    return record.decided


@needs_basex
def test_a_stored_state_is_what_was_written(basex: RunningBasex, name: str) -> None:
    check_that_a_stored_state_is_what_was_written(lambda: BasexSyncStore(basex.server, name), 1)
    assert name in stored_documents(basex.server)


@needs_basex
def test_a_state_from_before_checkpoints_had_incarnations_is_read(
    basex: RunningBasex, name: str
) -> None:
    with closing(BasexSyncStore(basex.server, name)) as store:
        assert len(list(rounds(store, 2))) == 2
    with closing(BasexSession(basex.server)) as session:
        for number in (1, 2):
            node = f"db:open('{PREFIX}{name}-{number}', 'state.xml')/state"
            session.query(f"delete node {node}/@incarnations")
            session.query(f"replace value of node {node}/@format with '1'")
    for incarnations in ((), ((1, 7), (3, 8))):
        with closing(BasexSyncStore(basex.server, name)) as store:
            state = store.load()
            assert state is not None
            assert state.checkpoint.incarnations == incarnations
            checkpoint = replace(state.checkpoint, incarnations=((1, 7), (3, 8)))
            store.write(StateChanges(checkpoint=checkpoint))


@needs_basex
@pytest.mark.parametrize("damaged", [1, 2])
def test_an_update_that_was_not_completed_is_repaired(
    basex: RunningBasex, name: str, damaged: int
) -> None:
    store = BasexSyncStore(basex.server, name)
    (*_, acknowledged) = rounds(store, 20)
    store.close()
    # BaseX refuses a database with this file, which it creates before an update and removes after.
    (basex.folder / "data" / f"{PREFIX}{name}-{damaged}" / "upd.basex").touch()
    assert decided(basex, name) == acknowledged
    # Both databases were made anew.
    folders = basex.folder.glob(f"data/{PREFIX}{name}-*")
    assert {each.name[-2:] for each in folders} == {f"-{damaged}", "-3", "-4"}
    assert decided(basex, name) == acknowledged


@needs_basex
def test_databases_that_both_cannot_be_read_are_refused(basex: RunningBasex, name: str) -> None:
    store = BasexSyncStore(basex.server, name)
    list(rounds(store, 2))
    store.close()
    folders = [basex.folder / "data" / f"{PREFIX}{name}-{number}" for number in (1, 2)]
    for folder in folders:
        (folder / "upd.basex").touch()
    with pytest.raises(SyncError) as refused:
        BasexSyncStore(basex.server, name)
    for folder in folders:
        shutil.rmtree(folder)  # other tests serve all documents
    assert refused.value.code == "sync.basex-damaged"
    assert "not completed" in str(refused.value)


@needs_basex
def test_a_document_whose_creation_was_not_completed_is_new(basex: RunningBasex, name: str) -> None:
    (basex.folder / "data" / f"{PREFIX}{name}-1").mkdir()
    store = BasexSyncStore(basex.server, name)
    (*_, acknowledged) = rounds(store, 2)
    store.close()
    assert decided(basex, name) == acknowledged


@needs_basex
def test_documents_are_served_from_basex(basex: RunningBasex, name: str, tmp_path: Path) -> None:
    (tmp_path / "menu.xml").write_text("<menu/>")
    for statement, is_new in (("/menu!insert(dish)", True), ("/menu!insert(soup)", False)):
        documents = {name: tmp_path / "menu.xml"} if is_new else {}
        with running_sync_server(
            tmp_path / "store", documents, insecure=True, basex=basex.server
        ) as running:
            assert (name in running.serving.restored) is not is_new
            client = Client("ada/desk", SyncSubscription("/*"))
            with SyncConnection(running.url(name)) as connection:
                # A clone of the same name goes on where the last one was.
                client._clone_number = 0 if is_new else 1
                for message in connection.exchange(client.request()):
                    client.receive(message)
                client.update(statement)
                for message in connection.exchange(client.request()):
                    client.receive(message)
            expected = b"<menu><dish></dish>" + (b"" if is_new else b"<soup></soup>") + b"</menu>"
            assert client.canonical_xml() == expected
    assert not list((tmp_path / "store").glob("*.sync"))


@needs_basex
def test_a_second_server_of_a_document_is_noticed(basex: RunningBasex, name: str) -> None:
    stores = [BasexSyncStore(basex.server, name) for _ in range(2)]
    (*_, acknowledged) = rounds(stores[0], 3)
    with pytest.raises(SyncError) as refused:
        list(rounds(stores[1], 1))
    assert refused.value.code == "sync.basex-changed"
    assert decided(basex, name) == acknowledged
    for store in stores:
        store.close()


@needs_basex
def test_a_later_format_is_refused(basex: RunningBasex, name: str) -> None:
    store = BasexSyncStore(basex.server, name)
    list(rounds(store, 1))
    store.close()
    with BasexSession(basex.server) as session:
        for number in (1, 2):
            session.query(
                f"replace value of node db:open('{PREFIX}{name}-{number}')/state/@format with 99"
            )
    with pytest.raises(WorkspaceError) as refused:
        BasexSyncStore(basex.server, name)
    assert refused.value.code == "workspace.too-new"


@needs_basex
def test_a_wrong_password_is_refused(basex: RunningBasex) -> None:
    with pytest.raises(SyncError) as refused:
        BasexSession(replace(basex.server, password="wrong"))
    assert refused.value.code == "sync.basex"
    assert "wrong" not in repr(replace(basex.server, password="wrong"))


@needs_basex
def test_a_session_goes_on_after_a_refused_query(basex: RunningBasex) -> None:
    session = BasexSession(basex.server)
    with pytest.raises(basex_session.BasexQueryError) as refused:
        session.query("1 +")
    assert refused.value.code == "XPST0003"
    with pytest.raises(basex_session.BasexQueryError) as refused:
        session.query("error(xs:QName('mine'), 'no')")
    assert refused.value.code == "mine"
    assert session.query("'\N{BALLOON}' || 1 + 1").decode() == "\N{BALLOON}2"
    assert session.query("xs:base64Binary('AAD//wE=')") == b"\x00\x00\xff\xff\x01"
    session.close()


@needs_basex
def test_nothing_acknowledged_is_lost_when_basex_is_killed(basex: RunningBasex, name: str) -> None:
    store = BasexSyncStore(basex.server, name)
    acknowledged = 0
    killer = threading.Timer(0.2, basex.kill)
    try:
        for number in rounds(store, 1_000_000):
            acknowledged = number
            if number == 1:
                killer.start()
    except SyncError as refused:
        assert refused.code == "sync.basex"  # noqa: PT017
    killer.join()
    store.close()
    basex.restart()
    assert decided(basex, name) >= acknowledged > 0


def refusal_of(answers: bytes) -> str:
    """Why a session refuses a server that sends these bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.sendall(answers)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(1024):
                    pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            session = BasexSession(BasexServer(port=listening.getsockname()[1], password="x"))
        except SyncError as problem:
            return f"{problem.code}: {problem}"
        else:
            with session, pytest.raises(SyncError) as refused:
                session.query("1")
            return f"{refused.value.code}: {refused.value}"
        finally:
            thread.join()


@pytest.mark.parametrize(
    "answers",
    [
        b"",
        b"BaseX:1",
        b"HTTP/1.1 400\x00",
        b"\xff",
        b"B:1\x00\x01",
        b"B:1\x00\x00",
        b"B:1\x00\x001",
    ],
)
def test_an_unusable_answer_is_refused(answers: bytes) -> None:
    assert refusal_of(answers).startswith("sync.basex: ")


def test_an_answer_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basex_session, "BASEX_ANSWER_BYTES_MAX", 10)
    assert "more than 10 bytes" in refusal_of(b"B:1\x00\x00" + b"1" * 11)


def test_a_server_that_cannot_be_reached() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SyncError) as refused:
        BasexSession(BasexServer(port=port, password="x"))
    assert refused.value.code == "sync.basex"
