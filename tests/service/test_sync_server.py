"""The HTTP interface of a synchronisation server: whom it answers, and what it refuses."""

from __future__ import annotations

import asyncio
import json
import socket
import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from penstock.errors import PenstockError, error
from penstock.links import ClientTls, ServerTls, TcpAddress
from penstock.service.sync import SyncConnection
from penstock.service.sync.document_engine import DocumentEngine
from penstock.service.sync.document_service import DocumentService
from penstock.service.sync.document_stores import SqliteStores
from penstock.service.sync.tokens import TokenVerifier, create_token, read_accounts, revoke_token
from penstock.sync import Client, Server, SyncSubscription
from penstock.sync.message_codec import decode_messages, encode_request
from penstock.sync.messages import CloneAgain, CloneAnswer, CloneRequest
from support.contracts.native_engines import needs_native
from support.links.certificates import Authority
from support.service.running_sync_server import RunningSyncServer, running_sync_server

pytestmark = needs_native

DOCUMENT = b"<catalogue><product id='p1'>Kettle</product></catalogue>"


@pytest.fixture
def document(tmp_path: Path) -> Path:
    path = tmp_path / "catalogue.xml"
    path.write_bytes(DOCUMENT)
    return path


@pytest.fixture
def store(tmp_path: Path) -> Path:
    folder = tmp_path / "store"
    folder.mkdir()
    return folder


@pytest.fixture
def token(store: Path) -> str:
    return create_token(store, "ada")


@pytest.fixture
def server(store: Path, document: Path, token: str) -> Iterator[RunningSyncServer]:
    with running_sync_server(store, {"catalogue": document}) as running:
        yield running


@pytest.fixture
def http(server: RunningSyncServer, token: str) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {token}"}
    with httpx.Client(base_url=server.serving.url, headers=headers, trust_env=False) as client:
        yield client


def code_of(answer: httpx.Response) -> str:
    code: str = answer.json()["error"]["code"]
    assert answer.json()["error"]["hint"]
    return code


# Tokens


def test_a_token_is_verified_and_only_its_digest_is_stored(store: Path) -> None:
    token = create_token(store, "ada")
    create_token(store, "bob")
    file = store / "tokens"
    assert file.stat().st_mode & 0o777 == 0o600
    assert token.partition(".")[2] not in file.read_text()
    verifier = TokenVerifier(store)
    assert verifier.account_of(f"Bearer {token}") == "ada"
    assert verifier.account_of(f"bearer  {token}") == "ada"
    wrong = ["", "Bearer ", f"Basic {token}", f"Bearer {token}x", f"Bearer bob{token[3:]}"]
    wrong += ["Bearer nobody.x", "Bearer ada.", "Bearer \x00é"]
    assert [verifier.account_of(each) for each in (None, *wrong)] == [None] * (len(wrong) + 1)
    revoke_token(store, "ada")
    assert verifier.account_of(f"Bearer {token}") is None
    assert sorted(read_accounts(store)) == ["bob"]


def test_a_token_is_limited_to_documents(
    store: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.application.SYNC_HEARTBEAT_SECONDS", 0.1)
    token = create_token(store, "bob", documents=["menu", "later"])
    documents = {"catalogue": document, "menu": document}
    with running_sync_server(store, documents) as running:
        headers = {"Authorization": f"Bearer {token}"}
        url = running.serving.url
        with httpx.Client(base_url=url, headers=headers, trust_env=False) as http:
            assert http.get("/documents").json() == {"documents": ["menu"]}
            assert http.get("/documents/menu").status_code == 200
            unknown = http.get("/documents/nothing").json()["error"]["message"]
            for method, path in (
                ("GET", ""),
                ("POST", "/requests"),
                ("GET", "/messages?client=bob/x"),
            ):
                answer = http.request(method, f"/documents/catalogue{path}")
                assert (answer.status_code, code_of(answer)) == (404, "sync.document")
                expected = unknown.replace("nothing", "catalogue")
                assert answer.json()["error"]["message"] == expected
            # A stream ends when the account loses the document.
            with http.stream("GET", "/documents/menu/messages?client=bob/x") as stream:
                lines = stream.iter_lines()
                assert next(lines) == "event: open"
                line = (store / "tokens").read_text().replace(" menu", "")
                (store / "tokens").write_text(line)
                for _ in lines:
                    pass
        assert sorted(read_accounts(store)["bob"].documents) == ["later"]
    with pytest.raises(PenstockError) as refused:
        create_token(store, "eve", documents=["a b"])
    assert refused.value.code == "sync.document"


@pytest.mark.parametrize("name", ["", "a/b", "a.b", "-a", "x" * 65, "é"])
def test_names_of_accounts_are_restricted(store: Path, name: str) -> None:
    with pytest.raises(PenstockError) as refused:
        create_token(store, name)
    assert refused.value.code == "sync.account"


def test_an_account_has_one_token(store: Path) -> None:
    create_token(store, "ada")
    with pytest.raises(PenstockError, match="already"):
        create_token(store, "ada")
    with pytest.raises(PenstockError, match="no account"):
        revoke_token(store, "bob")


@pytest.mark.parametrize(
    "content", [b"ada", b"ada " + b"0" * 63, b"\xff", b"a b c\n", b"ada " + b"0" * 64 + b" -x"]
)
def test_a_malformed_token_file_is_refused_without_quoting_it(store: Path, content: bytes) -> None:
    (store / "tokens").write_bytes(content)
    with pytest.raises(PenstockError) as refused:
        read_accounts(store)
    assert refused.value.code == "sync.token-file"
    assert "000" not in refused.value.message


# Whom it answers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/documents"),
        ("GET", "/documents/catalogue"),
        ("GET", "/documents/nothing"),
        ("POST", "/documents/catalogue/requests"),
        ("GET", "/documents/catalogue/messages?client=ada/x"),
    ],
)
def test_every_resource_needs_a_token(http: httpx.Client, method: str, path: str) -> None:
    for header in ({"Authorization": "Bearer ada.wrong"}, {"Authorization": ""}):
        answer = http.request(method, path, headers=header)
        assert (answer.status_code, code_of(answer)) == (401, "sync.token")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "catalogue" not in answer.text


def test_a_document_is_described(http: httpx.Client) -> None:
    assert http.get("/documents").json() == {"documents": ["catalogue"]}
    described = http.get("/documents/catalogue").json()
    assert described == {"document": "catalogue", "version": 0, "account": "ada", "format": 1}


def test_a_clone_is_answered(http: httpx.Client) -> None:
    request = Client("ada/one", SyncSubscription("/*")).clone()
    answer = http.post("/documents/catalogue/requests", content=encode_request(request))
    assert answer.status_code == 200
    (message,) = decode_messages(answer.content)
    assert isinstance(message, CloneAnswer)
    assert message.client == "ada/one"


@pytest.mark.parametrize("client", ["bob/one", "ada", "adam/one", "/one"])
def test_a_client_belongs_to_the_account_of_its_token(http: httpx.Client, client: str) -> None:
    request = Client(client, SyncSubscription("/*")).clone()
    answer = http.post("/documents/catalogue/requests", content=encode_request(request))
    assert (answer.status_code, code_of(answer)) == (403, "sync.client-name")
    client = client or "ada/" + "x" * 300
    answer = http.get("/documents/catalogue/messages", params={"client": client})
    assert (answer.status_code, code_of(answer)) == (403, "sync.client-name")


def test_a_revoked_token_is_refused_at_once(http: httpx.Client, store: Path) -> None:
    assert http.get("/documents").status_code == 200
    revoke_token(store, "ada")
    assert http.get("/documents").status_code == 401


def test_a_damaged_token_file_lets_nobody_in_and_is_not_shown(
    http: httpx.Client, store: Path
) -> None:
    (store / "tokens").write_text("nonsense")
    answer = http.get("/documents")
    assert (answer.status_code, code_of(answer)) == (401, "sync.token")
    assert str(store) not in answer.text


# What it refuses


def test_what_is_not_there(http: httpx.Client) -> None:
    answer = http.get("/documents/other")
    assert (answer.status_code, code_of(answer)) == (404, "sync.document")
    assert http.get("/").json() == {"error": {"message": "Not Found"}}
    assert http.get("/documents/catalogue/requests").status_code == 405
    assert http.get("/documents/..%2f..%2ftokens").status_code == 404


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "sync.message"),
        (b"<request/>", "sync.message"),
        (b"PSR\x02\x90", "sync.message"),
        (
            b"PSR\x01\x95\xacCloneRequest\xa7ada/one\x01\x94\xb0SyncSubscription\xa3/a[\x90\xa0\x00",
            "query.syntax",
        ),
    ],
)
def test_malformed_requests(http: httpx.Client, body: bytes, code: str) -> None:
    answer = http.post("/documents/catalogue/requests", content=body)
    assert (answer.status_code, code_of(answer)) == (400, code)
    assert http.get("/documents/catalogue").json()["version"] == 0


def test_long_requests_are_refused_whether_announced_or_not(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.application.SYNC_REQUEST_BYTES_MAX", 1_000)
    bodies: list[bytes | Iterator[bytes]] = [bytes(1_001), iter([bytes(600), bytes(600)])]
    for body in bodies:
        answer = http.post("/documents/catalogue/requests", content=body)
        assert (answer.status_code, code_of(answer)) == (413, "sync.request-bytes")


def test_a_slow_request_is_refused(
    server: RunningSyncServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.application.SYNC_REQUEST_SECONDS_MAX", 0.05)
    place = urlsplit(server.serving.url)
    assert place.hostname is not None
    with socket.create_connection((place.hostname, place.port or 0), timeout=60) as connection:
        head = f"POST /documents/catalogue/requests HTTP/1.1\r\nAuthorization: Bearer {token}\r\n"
        connection.sendall(f"{head}Host: x\r\nContent-Length: 2\r\n\r\nx".encode())
        answer = b""
        while not answer.endswith(b"}}"):  # the second byte of the request never arrives
            part = connection.recv(10_000)
            assert part, answer
            answer += part
    assert answer.startswith(b"HTTP/1.1 408")
    assert b'"sync.request-slow"' in answer


@pytest.mark.parametrize(
    "begun", [b"", b"GET /documents HT", b"GET /documents HTTP/1.1\r\nHost: x\r\n"]
)
def test_a_head_that_is_late_ends_the_connection(
    store: Path, document: Path, monkeypatch: pytest.MonkeyPatch, begun: bytes
) -> None:
    monkeypatch.setattr("penstock.service.sync.http_protocol.SYNC_HEAD_SECONDS_MAX", 0.2)
    with running_sync_server(store, {"catalogue": document}, insecure=True) as running:
        place = urlsplit(running.serving.url)
        with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
            connection.sendall(begun)
            with suppress(ConnectionResetError):
                assert connection.recv(1) == b""


def test_a_late_head_after_an_answer_ends_the_connection(
    store: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.http_protocol.SYNC_HEAD_SECONDS_MAX", 1.0)
    with running_sync_server(store, {"catalogue": document}, insecure=True) as running:
        place = urlsplit(running.serving.url)
        with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
            request = b"GET /documents HTTP/1.1\r\nHost: x\r\n\r\n"
            for part in (request[:20], request[20:]):
                connection.sendall(part)
            assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
            # Each byte begins a new wait of the keep-alive, not of the head.
            with suppress(ConnectionError):
                for byte in b"GET /documents/catalogue HTTP/1.1\r\nX: " + b"x" * 100:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.05)
                pytest.fail("the connection is open")


def test_a_stream_outlives_the_wait_for_a_head(
    store: Path, document: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.http_protocol.SYNC_HEAD_SECONDS_MAX", 0.2)
    monkeypatch.setattr("penstock.service.sync.application.SYNC_HEARTBEAT_SECONDS", 0.3)
    with running_sync_server(store, {"catalogue": document}, insecure=True) as running:
        url = f"{running.serving.url}/documents/catalogue/messages"
        with httpx.stream("GET", url, params={"client": "/one"}, trust_env=False) as stream:
            lines = stream.iter_lines()
            while next(lines) != ": heartbeat":
                pass


def test_streams_are_limited(http: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.service.sync.document_service.SYNC_STREAMS_MAX", 0)
    answer = http.get("/documents/catalogue/messages", params={"client": "ada/one"})
    assert (answer.status_code, code_of(answer)) == (503, "sync.streams")


def test_a_request_that_the_core_refuses_harms_nobody(
    server: RunningSyncServer, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SyncConnection(server.url(), token=token) as connection:
        monkeypatch.setattr("penstock.sync.server.CLIENTS_MAX", 0)
        request = CloneRequest(client="ada/x", number=1, subscription=SyncSubscription("/*"))
        with pytest.raises(PenstockError) as refused:
            connection.exchange(request)
        assert refused.value.code == "sync.clients"
        monkeypatch.undo()
        assert len(connection.exchange(request)) == 1


def test_a_stopping_server_refuses_requests(tmp_path: Path) -> None:
    async def run() -> list[str]:
        engine = DocumentEngine.open("x", SqliteStores(tmp_path), DOCUMENT)
        service = DocumentService(engine)
        service.close()
        with pytest.raises(PenstockError) as refused:
            await service.answer(Client("/one", SyncSubscription("/*")).clone())
        with pytest.raises(PenstockError) as without_stream:
            service.require_stream("/one")
        await service.run()
        service.shut_down()
        return [refused.value.code, without_stream.value.code]

    assert asyncio.run(run()) == ["sync.stopping"] * 2


def test_a_failing_store_ends_the_server_and_refuses_what_waits(tmp_path: Path) -> None:
    class FullStore:
        def load(self) -> None:
            return None

        def write(self, _changes: object) -> None:
            raise error("workspace.full", "the disk is full")

        def close(self) -> None:
            pass

    async def run() -> list[str]:
        engine = DocumentEngine("x", FullStore(), Server.of_document(DOCUMENT))
        service = DocumentService(engine)
        rounds = asyncio.create_task(service.run())
        codes = []
        for waited in (service.answer(Client("/one", SyncSubscription("/*")).clone()), rounds):
            with pytest.raises(PenstockError) as refused:
                await waited
            codes.append(refused.value.code)
        service.shut_down()
        return codes

    assert asyncio.run(run()) == ["sync.stopping", "workspace.full"]


def test_a_client_that_does_not_read_loses_its_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.service.sync.document_service.SYNC_STREAM_MESSAGES_MAX", 2)

    async def run() -> list[bool]:
        service = DocumentService(DocumentEngine.open("x", SqliteStores(tmp_path), DOCUMENT))
        rounds = asyncio.create_task(service.run())
        author, reader = (Client(name, SyncSubscription("/*")) for name in ("/one", "/two"))
        stream = service.open_stream("/two")
        for client in (author, reader):
            for message in await service.answer(client.request()):
                client.receive(message)
        ended = []
        for number in range(4):
            author.update(f"//product/*!update('{number}')")
            for message in await service.answer(author.request()):
                author.receive(message)
            ended.append(stream.is_ended)
        assert await stream.next() is None
        service.close()
        await rounds
        service.shut_down()
        return ended

    assert asyncio.run(run()) == [False, False, True, True]


# TLS


def test_a_client_verifies_the_certificate_of_the_server(
    store: Path, document: Path, token: str, tmp_path: Path
) -> None:
    authority, other = (Authority.create(tmp_path, name) for name in ("ours", "other"))
    certificate, key = authority.sign("localhost")
    tls = ServerTls(certificate=certificate, key=key)
    with running_sync_server(store, {"catalogue": document}, tls=tls) as server:
        assert server.serving.url.startswith("https://127.0.0.1:")
        for trusted, code in ((authority, ""), (other, "sync.unreachable")):
            context = ClientTls(authorities=trusted.path).context()
            with SyncConnection(
                server.url(), token=token, tls=context, pause=lambda _seconds: None
            ) as connection:
                try:
                    assert connection.describe().account == "ada"
                except PenstockError as refused:
                    assert refused.code == code  # noqa: PT017
                else:
                    assert not code


def test_files_that_are_no_certificates(store: Path, document: Path, token: str) -> None:
    tls = ServerTls(certificate=document, key=document)
    with (
        pytest.raises(PenstockError) as refused,
        running_sync_server(store, {"catalogue": document}, tls=tls),
    ):
        pass
    assert refused.value.code == "sync.tls"


# The store


def test_a_store_has_one_server(server: RunningSyncServer, store: Path) -> None:
    with pytest.raises(PenstockError) as refused, running_sync_server(store):
        pass
    assert refused.value.code == "workspace.running"


def test_a_server_without_tokens_does_not_start(store: Path, document: Path) -> None:
    with (
        pytest.raises(PenstockError) as refused,
        running_sync_server(store, {"catalogue": document}),
    ):
        pass
    assert refused.value.code == "sync.insecure"
    assert not list(store.glob("*.sync"))


def test_a_server_needs_a_document(store: Path, token: str, tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as refused, running_sync_server(store):
        pass
    assert refused.value.code == "sync.document"
    broken = tmp_path / "broken.xml"
    broken.write_bytes(b"<a>")
    with pytest.raises(PenstockError) as refused, running_sync_server(store, {"broken": broken}):
        pass
    assert refused.value.code.startswith("xml.")
    assert not list(store.glob("*.sync"))


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".x", "x" * 101])
def test_names_of_documents_are_restricted(store: Path, document: Path, name: str) -> None:
    with pytest.raises(PenstockError) as refused, running_sync_server(store, {name: document}):
        pass
    assert refused.value.code == "sync.document"


def test_a_restored_document_is_not_read_again(store: Path, document: Path) -> None:
    with running_sync_server(store, {"catalogue": document}, insecure=True) as server:
        assert not server.serving.restored
        with SyncConnection(server.url()) as connection:
            client = Client("/one", SyncSubscription("/*"))
            for message in connection.exchange(client.request()):
                client.receive(message)
            client.update("/catalogue/product!delete()")
            connection.exchange(client.request())
    with running_sync_server(store, {"catalogue": document}, insecure=True) as server:
        assert server.serving.restored == {"catalogue"}
        assert server.serving.documents == {"catalogue": 1}


DAMAGE = {
    "a row of the log": "UPDATE entries SET entry = '{'",
    "a type that is unknown": """UPDATE entries SET entry = '{"type":"X","fields":[]}'""",
    "fields that do not fit": """UPDATE entries SET entry = '{"type":"Report","fields":[]}'""",
    "a row of another type": """UPDATE entries SET entry = '7'""",
    "a client": "UPDATE clients SET record = '[]'",
    "the query of a client": "UPDATE clients SET record = replace(record, '/*', '/[')",
    "the document": "UPDATE document SET snapshot = x'00'",
    "a missing row of the log": "UPDATE document SET version = 1",
    "an identity in the log": """UPDATE entries SET entry = replace(entry, '0.1', '9.9')""",
}


@pytest.fixture(scope="module")
def used_store(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("used")
    document = folder / "catalogue.xml"
    document.write_bytes(DOCUMENT)
    with (
        running_sync_server(folder / "s", {"catalogue": document}, insecure=True) as server,
        SyncConnection(server.url()) as connection,
    ):
        client = Client("/one", SyncSubscription("/*"))
        for message in connection.exchange(client.request()):
            client.receive(message)
        client.update("/catalogue!insert(a)")
        connection.exchange(client.request())
    database = sqlite3.connect(folder / "s" / "catalogue.sync")
    database.execute("PRAGMA journal_mode = DELETE")
    database.close()
    return (folder / "s" / "catalogue.sync").read_bytes()


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_rows_are_reported(store: Path, used_store: bytes, damage: str) -> None:
    (store / "catalogue.sync").write_bytes(used_store)
    with sqlite3.connect(store / "catalogue.sync") as connection:
        changed = connection.execute(DAMAGE[damage]).rowcount
    connection.close()
    assert changed == 1
    with pytest.raises(PenstockError) as refused, running_sync_server(store, insecure=True):
        pass
    assert refused.value.code == "workspace.damaged"


def test_json_of_errors_is_an_object(http: httpx.Client) -> None:
    assert set(json.loads(http.get("/documents/x").text)) == {"error"}


# Clones


def test_clones_are_listed_and_forgotten(
    store: Path, document: Path, server: RunningSyncServer, token: str
) -> None:
    other = create_token(store, "bob")
    clients = {name: Client(name, SyncSubscription("//product")) for name in ("ada/a", "ada/b")}
    with SyncConnection(server.url(), token=token) as ada:
        for client in clients.values():
            (message,) = ada.exchange(client.request())
            client.receive(message)
        assert [(each.client, each.version, each.query) for each in ada.clones()] == [
            ("ada/a", 0, "//product"),
            ("ada/b", 0, "//product"),
        ]
        with SyncConnection(server.url(), token=other) as bob:
            assert bob.clones() == []
            with pytest.raises(PenstockError) as refused:
                bob.forget("ada/a")
            assert refused.value.code == "sync.client-name"
        ada.forget("ada/a")
        assert [each.client for each in ada.clones()] == ["ada/b"]
        with pytest.raises(PenstockError) as refused:
            ada.forget("ada/a")
        assert refused.value.code == "sync.client-unknown"
        # A clone that comes back all the same is told to clone again.
        (message,) = ada.exchange(clients["ada/a"].request())
        assert isinstance(message, CloneAgain)


def test_a_forgotten_clone_stays_forgotten_after_a_restart(
    store: Path, document: Path, token: str
) -> None:
    with (
        running_sync_server(store, {"catalogue": document}) as running,
        SyncConnection(running.url(), token=token) as ada,
    ):
        ada.exchange(Client("ada/a", SyncSubscription("/*")).request())
        ada.forget("ada/a")
    with (
        running_sync_server(store) as running,
        SyncConnection(running.url(), token=token) as ada,
    ):
        assert ada.clones() == []


# Metrics


def test_metrics_count_what_happens(
    store: Path, document: Path, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.sync.server.CLIENTS_MAX", 2)
    free = TcpAddress("127.0.0.1", 0)
    with running_sync_server(store, {"catalogue": document}, metrics=free) as running:
        place = running.serving.metrics
        assert place is not None

        def metric(name: str) -> int:
            text = httpx.get(f"http://{place}/metrics", trust_env=False).text
            start = f'penstock_sync_{name}{{document="catalogue"}} '
            (line,) = (line for line in text.splitlines() if line.startswith(start))
            assert f"# HELP penstock_sync_{name} " in text
            return int(line.removeprefix(start))

        assert metric("clients") == metric("rounds_total") == metric("streams") == 0
        with SyncConnection(running.url(), token=token) as connection:
            readers = [Client(f"ada/{name}", SyncSubscription("/*")) for name in "ab"]
            for reader in readers:
                (message,) = connection.exchange(reader.request())
                reader.receive(message)
            stream = connection.stream("ada/b")
            assert next(stream) is None
            connection.exchange(readers[1].request())
            readers[0].update("//product/*!update('Teapot')")
            connection.exchange(readers[0].request())
            assert next(stream) is not None
            assert metric("streams") == metric("pushed_messages_total") == 1
            with pytest.raises(PenstockError):
                connection.exchange(Client("ada/c", SyncSubscription("/*")).request())
        assert (metric("clients"), metric("version")) == (2, 1)
        assert (metric("requests_total"), metric("refused_requests_total")) == (5, 1)
        assert metric("rounds_total") == 5
        assert metric("log_entries") == 1
        assert metric("nodes") > 2
        assert metric("waiting_requests") == metric("lost_streams_total") == 0


def test_an_address_for_metrics_that_is_taken(store: Path, document: Path, token: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = TcpAddress("127.0.0.1", taken.getsockname()[1])
        with (
            pytest.raises(PenstockError) as refused,
            running_sync_server(store, {"catalogue": document}, metrics=address),
        ):
            pass
    assert refused.value.code == "sync.listen"
