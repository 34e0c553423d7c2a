"""Working directories: edits reach the server once, and nothing that a person typed is lost."""

from __future__ import annotations

import os
import random
import shutil
import signal
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from penstock.errors import PenstockError
from penstock.service.sync import (
    SyncConnection,
    Synchronisation,
    WorkingDirectory,
    parse_url,
    synchronise,
)
from penstock.service.sync.clone_store import CloneStore
from penstock.service.sync.operation_text import describe
from penstock.service.sync.server_url import DocumentUrl
from penstock.service.sync.working_directory import STATE_FOLDER, new_client_name
from penstock.sync import Client, Server, SyncSubscription
from support.contracts.native_engines import needs_native
from support.fixtures.small_disk import fill, small_disk
from support.service.running_sync_server import RunningSyncServer, running_sync_server

pytestmark = needs_native

DOCUMENT = b"""<catalogue>
  <product id="p1"><name>Kettle</name><price>29.90</price></product>
  <product id="p2"><name>Teapot</name><price>19.90</price></product>
</catalogue>
"""


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RunningSyncServer]:
    document = tmp_path / "catalogue.xml"
    document.write_bytes(DOCUMENT)
    with running_sync_server(tmp_path / "store", {"catalogue": document}, insecure=True) as found:
        yield found


class Clone:
    """A working directory, each use of which opens it anew as a command does."""

    def __init__(
        self,
        folder: Path,
        url: DocumentUrl,
        query: str = "/*",
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.folder = folder
        self.url = url
        self.transport = transport
        self.file = folder / "catalogue.xml"
        name = new_client_name("", folder.name)
        with (
            self.connection() as connection,
            WorkingDirectory.create(folder, url, name, SyncSubscription(query)) as directory,
        ):
            synchronise(directory, connection, submit=False)

    def connection(self) -> SyncConnection:
        return SyncConnection(self.url, transport=self.transport, pause=lambda _seconds: None)

    def synchronise(self, *, submit: bool) -> Synchronisation:
        with self.connection() as connection, WorkingDirectory.open(self.folder) as directory:
            return synchronise(directory, connection, submit=submit)

    def push(self) -> Synchronisation:
        return self.synchronise(submit=True)

    def pull(self) -> Synchronisation:
        return self.synchronise(submit=False)

    def replace(self, old: str, new: str) -> None:
        """A person edits the file."""
        text = self.file.read_text(encoding="utf-8")
        assert old in text
        self.file.write_text(text.replace(old, new), encoding="utf-8")

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")


@pytest.fixture
def ada(server: RunningSyncServer, tmp_path: Path) -> Clone:
    return Clone(tmp_path / "ada", server.url())


@pytest.fixture
def bob(server: RunningSyncServer, tmp_path: Path) -> Clone:
    return Clone(tmp_path / "bob", server.url())


def refusal(action: Callable[[], object]) -> str:
    with pytest.raises(PenstockError) as refused:
        action()
    return refused.value.code


# Editing


def test_a_clone_is_the_file(ada: Clone) -> None:
    assert ada.file.read_bytes() == DOCUMENT


def test_edits_reach_the_other_clone(ada: Clone, bob: Clone) -> None:
    ada.replace("29.90", "27.50")
    ada.replace("</catalogue>", '  <product id="p3"/>\n</catalogue>')
    with WorkingDirectory.open(ada.folder) as directory:
        edits = list(map(str, directory.edits()))
    assert len(edits) == 3
    assert "set /catalogue/product[0]/price/text() from '29.90' to '27.50'" in edits
    assert 'insert in /catalogue: <product id="p3"></product>' in edits
    written = ada.text
    done = ada.push()
    assert (done.decided, done.is_file_changed, done.reports) == (1, False, [])
    assert ada.text == written
    assert bob.pull().is_file_changed
    assert "27.50" in bob.text
    assert '<product id="p3"></product>' in bob.text


def test_every_operation_has_a_text() -> None:
    document = b"<r><a k='1'>x<b/>y</a><a/><!--c--><?p i?></r>"
    server = Server.of_document(document)
    client = Client("one", SyncSubscription("/*"))
    server.receive(client.request())
    for message in server.round():
        client.receive(message)
    before = Client.restore(client.state()).tree
    statements = {
        "/r/a[0]!insert(c/@k/'v')": 'insert in /r/a[0]: <c k="v"></c>',
        "/r/a[0]/c!insert('new')": "insert in (new): new",
        "/r/a[1]!delete()": "delete /r/a[1]",
        "/r/a[0]/b!moveBefore(/r/comment())": "move /r/comment() to /r/a[0]",
        "/r/a[0]!copy(/r/a[0]/b)": "copy in /r/a[0]: /r/a[0]/b",
        "/r/a[0]/text()[1]!update('z')": "set /r/a[0]/text()[1] from 'y' to 'z'",
        "/r/a[0]/@k!update('2')": "set /r/a[0]/@k from '1' to '2'",
        "/r/a[0]!insert(@m/'3')": "set /r/a[0]/@m to '3'",
        "/r/a[0]/@k!delete()": "remove /r/a[0]/@k",
        "/r/pi()!update('j')": "set /r/pi() from 'i' to 'j'",
        "/r/a[0]!update('n')": "rename /r/a[0] to n",
    }
    texts = []
    for statement in statements:
        client.update(statement)
        texts.append(", ".join(map(str, describe(client.pending[-1].operations, before))))
    assert texts == list(statements.values())


def test_a_pull_keeps_edits_and_does_not_send_them(ada: Clone, bob: Clone) -> None:
    ada.replace("29.90", "27.50")
    ada.push()
    bob.replace("19.90", "18.00")
    done = bob.pull()
    assert done.pending == 1
    assert "27.50" in bob.text
    assert "18.00" in bob.text
    ada.pull()
    assert "18.00" not in ada.text
    bob.push()
    ada.pull()
    assert ada.text == bob.text


def test_who_loses_is_informed_why(ada: Clone, bob: Clone) -> None:
    ada.replace("29.90", "27.50")
    bob.replace('\n  <product id="p1"><name>Kettle</name><price>29.90</price></product>', "")
    ada.push()
    bob.push()
    (report,) = ada.pull().reports
    assert report.report.outcome == "deleted under"
    assert report.path == "/catalogue/product[0]/price/text()"
    assert report.report.by.startswith("/bob-")
    assert report.text == "edited file"
    assert ada.text == bob.text
    with WorkingDirectory.open(ada.folder) as directory:
        kinds = [event.kind for event in directory.log()]
        texts = [event.text for event in directory.log()]
    assert kinds == ["clone", "edited file", "update", "update", "report"]
    assert "27.50" in texts[1]
    assert "deleted under by /bob-" in texts[-1]


def test_a_formatted_file_is_not_rewritten(ada: Clone) -> None:
    ada.file.write_bytes(b"<?xml version='1.0'?>\n" + DOCUMENT.replace(b'id="p1"', b"id='p1' "))
    with WorkingDirectory.open(ada.folder) as directory:
        assert directory.edits() == []
    written = ada.text
    ada.push()
    assert ada.text == written


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"<catalogue>", "xml.unclosed"),
        (b"", "xml.root"),
        (b"<catalogue><product/>\xff</catalogue>", "encoding.bytes"),
    ],
)
def test_a_malformed_file_is_refused_and_kept(ada: Clone, content: bytes, code: str) -> None:
    ada.file.write_bytes(content)
    for action in (ada.push, ada.pull):
        assert refusal(action) == code
    assert ada.file.read_bytes() == content
    ada.file.write_bytes(DOCUMENT.replace(b"29.90", b"1.00"))
    assert ada.push().decided == 1


def test_changes_of_bare_elements_are_refused_and_kept(
    server: RunningSyncServer, tmp_path: Path
) -> None:
    part = Clone(tmp_path / "part", server.url(), "//price")
    part.replace("<catalogue>", "<catalogue k='v'>")
    assert refusal(part.push) == "update.bare"
    assert "k='v'" in part.text


PRICES = """<catalogue>
  <product>
    <price>29.90</price>
  </product>
  <product>
    <price>19.90</price>
  </product>
</catalogue>
"""


def test_bare_elements_are_indented_and_their_whitespace_does_not_count(
    server: RunningSyncServer, tmp_path: Path, ada: Clone
) -> None:
    part = Clone(tmp_path / "part", server.url(), "//price")
    assert part.text == PRICES
    part.file.write_text("<catalogue>" + part.text.replace(" ", "").split("<catalogue>")[1])
    assert part.push().decided == 0
    part.replace("29.90", "27.50")
    with WorkingDirectory.open(part.folder) as directory:
        (edit,) = directory.edits()
    assert str(edit) == "set /catalogue/product[0]/price/text() from '29.90' to '27.50'"
    assert part.push().decided == 1
    ada.pull()
    assert ada.file.read_bytes() == DOCUMENT.replace(b"29.90", b"27.50")


def test_an_element_that_is_inserted_beside_bare_ones(
    server: RunningSyncServer, tmp_path: Path, ada: Clone
) -> None:
    part = Clone(tmp_path / "part", server.url(), "//price")
    part.replace("</catalogue>", "  <product>\n    <price>1</price>\n  </product>\n</catalogue>")
    with WorkingDirectory.open(part.folder) as directory:
        directory.take_edits()
        assert directory.edits() == []
    part.replace("<price>1<", "<price>2<")  # while the new product is not bare
    part.push()
    assert part.text.count("<product>\n    <price>") == 3
    ada.pull()
    assert "<product><price>2</price></product>" in ada.text


def test_elements_with_text_are_not_indented(server: RunningSyncServer, tmp_path: Path) -> None:
    texts = Clone(tmp_path / "texts", server.url(), "//text() | //price")
    assert texts.text.startswith("<catalogue>\n  <product><name>Kettle</name><price>29.90</price>")
    assert texts.push().decided == 0


def test_a_clone_of_nothing_is_an_empty_file(
    server: RunningSyncServer, tmp_path: Path, ada: Clone
) -> None:
    nothing = Clone(tmp_path / "nothing", server.url(), "//missing")
    assert nothing.text == ""
    assert nothing.push().decided == 0
    ada.replace("</catalogue>", "<missing>here</missing></catalogue>")
    ada.push()
    nothing.pull()
    assert nothing.text == "<catalogue>\n  <missing>here</missing>\n</catalogue>\n"


def test_a_removed_file_is_written_again_on_request(ada: Clone) -> None:
    ada.file.unlink()
    assert refusal(ada.push) == "sync.file"
    with WorkingDirectory.open(ada.folder) as directory:
        assert directory.discard_edits() is None
    assert ada.file.read_bytes() == DOCUMENT


@pytest.mark.parametrize("kind", ["link", "folder", "pipe"])
def test_what_is_not_an_ordinary_file_is_neither_read_nor_replaced(
    ada: Clone, bob: Clone, tmp_path: Path, kind: str
) -> None:
    """A link was replaced by a file with the next change; edits of what it pointed to were lost."""
    target = tmp_path / "elsewhere.xml"
    ada.file.rename(target)
    match kind:
        case "link":
            ada.file.symlink_to(target)
        case "folder":
            ada.file.mkdir()
        case "pipe":
            os.mkfifo(ada.file)
    bob.replace("29.90", "27.50")
    bob.push()
    assert refusal(ada.pull) == "sync.file"
    assert refusal(ada.push) == "sync.file"
    with WorkingDirectory.open(ada.folder) as directory:
        assert refusal(directory.discard_edits) == "sync.file"
    assert target.read_bytes() == DOCUMENT
    assert ada.file.is_symlink() == (kind == "link")


def test_discarded_edits_are_kept_aside(ada: Clone) -> None:
    ada.file.write_bytes(b"<catalogue>")
    with WorkingDirectory.open(ada.folder) as directory:
        kept = directory.discard_edits()
    assert kept is not None
    assert kept.read_bytes() == b"<catalogue>"
    assert ada.file.read_bytes() == DOCUMENT
    assert ada.push().decided == 0


def test_undo_brings_a_pushed_edit_back(ada: Clone, bob: Clone) -> None:
    ada.replace("29.90", "27.50")
    ada.push()
    with WorkingDirectory.open(ada.folder) as directory:
        directory.client.undo()
        assert directory.check_out()
    assert "29.90" in ada.text
    ada.push()
    bob.pull()
    assert bob.text == ada.text


def test_what_is_saved_while_the_server_answers_is_not_lost(ada: Clone, bob: Clone) -> None:
    bob.replace("19.90", "18.00")
    bob.push()

    class SavesMeanwhile(httpx.HTTPTransport):
        requests = 0

        def handle_request(self, request: httpx.Request) -> httpx.Response:
            self.requests += 1
            if self.requests == 1:
                ada.replace("29.90", "27.50")
            return super().handle_request(request)

    ada.transport = transport = SavesMeanwhile()
    done = ada.push()
    assert transport.requests == 2
    assert done.decided == 1
    assert "27.50" in ada.text
    assert "18.00" in ada.text
    bob.pull()
    assert ada.text == bob.text


# Faults of the network


class FaultyTransport(httpx.HTTPTransport):
    """Loses requests and answers, and repeats requests, at random."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = random.Random(seed)
        self.faults = 0

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        fate = self._random.random()
        if fate < 0.3:
            self.faults += 1
            raise httpx.ConnectError("the request is lost", request=request)
        answer = super().handle_request(request)
        if fate < 0.6:
            self.faults += 1
            answer.close()
            raise httpx.ReadError("the answer is lost", request=request)
        if fate < 0.7:
            answer.close()
            answer = super().handle_request(request)
        return answer


def persistently(action: Callable[[], object]) -> None:
    """Repeats a command until it succeeds."""
    for _ in range(50):
        try:
            action()
        except PenstockError as problem:
            assert problem.code == "sync.unreachable"  # noqa: PT017
        else:
            return
    raise AssertionError("it never succeeded")


def test_a_statement_is_decided_once_however_often_it_is_sent(
    ada: Clone, bob: Clone, server: RunningSyncServer
) -> None:
    faults = [FaultyTransport(seed) for seed in (1, 2)]
    ada.transport, bob.transport = faults
    for number in range(5):
        for clone in (ada, bob):
            word = f"{clone.folder.name}{number}"
            clone.replace("</catalogue>", f"<note>{word}</note></catalogue>")
            persistently(clone.push)
    persistently(ada.pull)
    assert ada.text == bob.text
    for name in ("ada", "bob"):
        assert [ada.text.count(f"<note>{name}{number}</note>") for number in range(5)] == [1] * 5
    with SyncConnection(server.url()) as connection:
        assert connection.describe().version == 10
    assert sum(each.faults for each in faults) > 5


def test_a_server_that_cannot_be_reached(tmp_path: Path) -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused", request=request)

    pauses: list[float] = []
    transport = httpx.MockTransport(refuse)
    url = parse_url("http://127.0.0.1:1/x")
    with SyncConnection(url, transport=transport, pause=pauses.append) as connection:
        assert refusal(connection.describe) == "sync.unreachable"
    assert len(pauses) == 4


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (httpx.Response(200, content=b"<html>"), "sync.unreachable"),
        (httpx.Response(200, json={"version": 1, "account": "", "format": 9}), "sync.unreachable"),
        (httpx.Response(404), "sync.unreachable"),
        (httpx.Response(302, headers={"Location": "http://x/"}), "sync.unreachable"),
        (
            httpx.Response(500, json={"error": {"code": "no.such", "message": ""}}),
            "sync.unreachable",
        ),
        (httpx.Response(401, json={"error": {"code": "sync.token", "message": ""}}), "sync.token"),
        (httpx.Response(200, content=bytes(200_000)), "sync.answer-bytes"),
    ],
)
def test_answers_of_other_servers(answer: httpx.Response, code: str) -> None:
    transport = httpx.MockTransport(lambda _request: answer)
    url = parse_url("http://127.0.0.1:1/x")
    with SyncConnection(url, transport=transport, pause=lambda _seconds: None) as connection:
        assert refusal(connection.describe) == code


def test_a_token_is_not_sent_to_another_machine_without_tls() -> None:
    url = parse_url("http://example.org/x")
    assert refusal(lambda: SyncConnection(url, token="ada.x")) == "sync.insecure"
    SyncConnection(url, token="ada.x", plaintext=True).close()
    SyncConnection(parse_url("https://example.org/x"), token="ada.x").close()


def test_a_request_beyond_the_limit_sends_fewer_statements(
    ada: Clone, monkeypatch: pytest.MonkeyPatch
) -> None:
    with WorkingDirectory.open(ada.folder) as directory:
        for _ in range(9):
            directory.client.update("/catalogue!insert(note/'x')")
        assert directory.check_out()
    monkeypatch.setattr("penstock.service.sync.http_client.SYNC_REQUEST_BYTES_MAX", 700)
    assert ada.push().decided == 9
    ada.replace("29.90", "9" * 1_000)
    assert refusal(ada.push) == "sync.request-bytes"
    assert "9" * 1_000 in ada.text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "catalogue",
        "ftp://a/b",
        "http://a",
        "http://a/b?c",
        "http://u:p@a/b",
        "http://[/",
        "http://a/..%2fb",
    ],
)
def test_urls(url: str) -> None:
    assert refusal(lambda: parse_url(url)) == "sync.url"


# Folders


def test_a_copied_folder_is_refused(ada: Clone, tmp_path: Path) -> None:
    shutil.copytree(ada.folder, tmp_path / "copy")
    with ada.connection() as connection, WorkingDirectory.open(tmp_path / "copy") as directory:
        assert refusal(lambda: synchronise(directory, connection, submit=True)) == "sync.stale"
    ada.folder.rename(tmp_path / "moved")
    with ada.connection() as connection, WorkingDirectory.open(tmp_path / "moved") as directory:
        synchronise(directory, connection, submit=True)


def test_a_folder_that_is_behind_the_server_is_refused(ada: Clone, bob: Clone) -> None:
    database = ada.folder / STATE_FOLDER / "clone.sqlite"
    old = database.read_bytes()
    old_file = ada.file.read_bytes()
    for word in ("one", "two"):
        ada.replace("</catalogue>", f"<note>{word}</note></catalogue>")
        ada.push()
    database.write_bytes(old)  # the same file, so that the copy is not noticed
    ada.file.write_bytes(old_file)
    assert refusal(ada.push) == "sync.stale"
    assert ada.file.read_bytes() == old_file


def test_a_full_disk_is_no_damage(server: RunningSyncServer, bob: Clone, tmp_path: Path) -> None:
    """The hint was to clone again, which would have given up what was not pushed."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with small_disk(disk):
        ada = Clone(disk / "ada", server.url())
        ada.replace("29.90", "27.50")
        fill(disk / "large")
        assert refusal(ada.push) == "workspace.full"
        (disk / "large").unlink()
        ada.push()
    bob.pull()
    assert "27.50" in bob.text


def test_other_folders(ada: Clone, tmp_path: Path) -> None:
    def create(folder: Path) -> None:
        with WorkingDirectory.create(folder, ada.url, "x", SyncSubscription("/*")):
            pass

    def open_(folder: Path) -> None:
        with WorkingDirectory.open(folder):
            pass

    assert refusal(lambda: create(ada.folder)) == "sync.folder"
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    assert refusal(lambda: create(tmp_path / "full")) == "sync.folder"
    assert refusal(lambda: open_(tmp_path / "full")) == "sync.no-clone"
    (ada.folder / STATE_FOLDER / "clone.sqlite").rename(tmp_path / "kept.sqlite")
    assert refusal(lambda: create(ada.folder)) == "sync.folder"  # its file would be replaced
    assert ada.file.read_bytes() == DOCUMENT
    (tmp_path / "kept.sqlite").rename(ada.folder / STATE_FOLDER / "clone.sqlite")
    (ada.folder / "inner").mkdir()
    open_(ada.folder / "inner")
    (ada.folder / STATE_FOLDER / "clone.sqlite").write_bytes(b"nonsense" * 1_000)
    assert refusal(lambda: open_(ada.folder)) == "sync.clone-damaged"


# Kills


class KillPoints:
    """Ends the process by SIGKILL at one of the points between two writes."""

    def __init__(self, kill_at: int) -> None:
        self._left = kill_at

    def point(self) -> None:
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self._left -= 1

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for of_class, name in ((CloneStore, "write"), (Path, "replace"), (Path, "unlink")):
            self._wrap(monkeypatch, of_class, name)
        self._wrap(monkeypatch, SyncConnection, "exchange")

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, of_class: type, name: str) -> None:
        original = getattr(of_class, name)

        def wrapped(*arguments: object, **options: object) -> object:
            self.point()
            result = original(*arguments, **options)
            self.point()
            return result

        monkeypatch.setattr(of_class, name, wrapped)


def push_and_die(clone: Clone, kill_at: int) -> bool:
    """Pushes in a process that is killed at a point; whether it was."""
    with warnings.catch_warnings():
        # The child uses nothing that other threads hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            with pytest.MonkeyPatch.context() as monkeypatch:
                KillPoints(kill_at).install(monkeypatch)
                clone.push()
            status = 0
        finally:
            os._exit(status)
    _, how = os.waitpid(child, 0)
    if os.WIFSIGNALED(how):
        assert os.WTERMSIG(how) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(how) == 0
    return False


@pytest.mark.parametrize("edits_after_kill", [False, True])
def test_a_killed_push_loses_nothing_and_does_nothing_twice(
    ada: Clone, bob: Clone, edits_after_kill: bool
) -> None:
    kill_at, was_killed = 0, True
    words: list[str] = []

    def note(clone: Clone, word: str) -> None:
        words.append(word)
        clone.replace("</catalogue>", f"<note>{word}</note></catalogue>")

    while was_killed:
        # Others' changes come with the answer, so that the file is replaced, too.
        note(bob, f"bob{kill_at}")
        bob.push()
        note(ada, f"ada{kill_at}")
        was_killed = push_and_die(ada, kill_at)
        if edits_after_kill:
            note(ada, f"again{kill_at}")
        ada.push()
        kill_at += 1
    bob.pull()
    assert ada.text == bob.text
    assert [ada.text.count(f"<note>{word}</note>") for word in words] == [1] * len(words)
    assert kill_at > 12


def test_an_interrupted_clone_is_continued(server: RunningSyncServer, tmp_path: Path) -> None:
    folder = tmp_path / "late"
    subscription = SyncSubscription("/*")
    with WorkingDirectory.create(folder, server.url(), "/late-1", subscription):
        pass
    with (
        SyncConnection(server.url()) as connection,
        WorkingDirectory.create(folder, server.url(), "/late-2", subscription) as directory,
    ):
        assert directory.client.name == "/late-1"
        synchronise(directory, connection, submit=False)
    assert (folder / "catalogue.xml").read_bytes() == DOCUMENT


# Streams


def test_a_connected_client_gets_changes_at_once(ada: Clone, bob: Clone) -> None:
    with WorkingDirectory.open(bob.folder) as directory:
        name = directory.client.name
    with bob.connection() as streaming, bob.connection() as connection:
        stream = streaming.stream(name)
        assert next(stream) is None
        bob.pull()
        ada.replace("29.90", "27.50")
        ada.push()
        pushed = next(stream)
        assert pushed
        with WorkingDirectory.open(bob.folder) as directory:
            done = synchronise(directory, connection, submit=False, pushed=pushed)
        assert done.is_file_changed
        assert "27.50" in bob.text
        stream.close()  # type: ignore[attr-defined]


def test_a_stopping_server_ends_streams(tmp_path: Path) -> None:
    document = tmp_path / "catalogue.xml"
    document.write_bytes(DOCUMENT)
    with running_sync_server(tmp_path / "s", {"catalogue": document}, insecure=True) as server:
        connection = SyncConnection(server.url())
        stream = connection.stream("/x")
        assert next(stream) is None
    assert list(stream) == []
    connection.close()
