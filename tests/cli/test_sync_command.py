"""``penstock sync``: what each command prints, and what it refuses."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock.service.sync.tokens import create_token
from support.contracts.native_engines import needs_native
from support.fixtures.commands import Done, penstock
from support.service.running_sync_server import RunningSyncServer, running_sync_server

pytestmark = needs_native

DOCUMENT = "<menu><dish>soup</dish><dish>stew</dish></menu>\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PENSTOCK_SYNC_TOKEN", raising=False)
    Path("menu.xml").write_text(DOCUMENT)
    return tmp_path


@pytest.fixture
def server(folder: Path) -> Iterator[RunningSyncServer]:
    Path("store").mkdir()
    for name in ("ada", "bob"):
        Path(f"{name}.token").write_text(create_token(folder / "store", name) + "\n")
    with running_sync_server(folder / "store", {"menu": folder / "menu.xml"}) as running:
        yield running


@pytest.fixture
def url(server: RunningSyncServer) -> str:
    return str(server.url("menu"))


def sync(*arguments: str) -> Done:
    done = penstock("sync", *arguments)
    assert done.code == 0, done.err
    return done


def clone(url: str, name: str) -> Path:
    sync("clone", url, name, "--token-file", f"{name}.token", "--name", "desk")
    return Path(name, "menu.xml")


def test_two_people_edit(url: str) -> None:
    ada, bob = clone(url, "ada"), clone(url, "bob")
    assert ada.read_text() == DOCUMENT
    assert Path("ada/.penstock/token").stat().st_mode & 0o777 == 0o600
    ada.write_text(DOCUMENT.replace("soup", "broth"))
    assert sync("diff", "-f", "ada").out == "set /menu/dish[0]/text() from 'soup' to 'broth'\n"
    (row,) = sync("diff", "-f", "ada", "--json").rows
    assert row == {
        "type": "operation",
        "operation": "set",
        "path": "/menu/dish[0]/text()",
        "before": "soup",
        "after": "broth",
    }
    assert "1 change; see" in sync("status", "-f", "ada").out
    assert sync("push", "-f", "ada").out == "version 1, 1 statement pushed, file unchanged\n"
    done = sync("edit", "-f", "bob", "/menu/dish[0]!delete()", "--json")
    assert done.rows[0]["operations"] == 1
    assert "to push: 1 /menu/dish[0]!delete()" in sync("status", "-f", "bob").out
    (row,) = sync("push", "-f", "bob", "--json").rows
    assert (row["type"], row["version"], row["decided"], row["reports"]) == ("push", 2, 1, 0)
    report, row = sync("pull", "-f", "ada", "--json").rows
    assert report["outcome"] == "deleted under"
    assert report["by"].startswith("bob/desk-")
    assert report["path"] == "/menu/dish[0]/text()"
    assert row["file_changed"]
    assert ada.read_text() == bob.read_text() == "<menu><dish>stew</dish></menu>\n"
    kinds = [row["kind"] for row in sync("log", "-f", "ada", "--json").rows]
    assert kinds == ["clone", "edited file", "update", "update", "report"]
    assert "deleted under by bob/desk-" in sync("log", "-f", "ada").out


def test_undo_and_redo(url: str) -> None:
    ada = clone(url, "ada")
    ada.write_text(DOCUMENT.replace("soup", "broth"))
    assert "edited file" in sync("undo", "-f", "ada").err
    assert ada.read_text() == DOCUMENT
    assert sync("redo", "-f", "ada", "--json").rows[0]["text"] == "edited file"
    assert "broth" in ada.read_text()
    sync("push", "-f", "ada")
    sync("undo", "-f", "ada")
    assert ada.read_text() == DOCUMENT
    assert "to push: 2 undo edited file" in sync("status", "-f", "ada").out
    refused = penstock("sync", "undo", "-f", "ada")
    assert refused.code == 3
    assert "[sync.undo]" in refused.err


def test_an_edited_file_that_cannot_be_read(url: str) -> None:
    ada = clone(url, "ada")
    ada.write_text("<menu>\n<dish></menu>")
    for command in ("push", "pull", "diff", "undo", "redo"):
        refused = penstock("sync", command, "-f", "ada")
        assert refused.code == 3
        assert "ada/menu.xml:2:" in refused.err
    assert "cannot be pushed" in sync("status", "-f", "ada").out
    assert sync("status", "-f", "ada", "--json").rows[0]["problem"]["code"] == "xml.end-tag"
    done = sync("pull", "-f", "ada", "--discard")
    assert "discarded.xml" in done.err
    assert done.out == "version 0, file restored\n"
    assert ada.read_text() == DOCUMENT
    assert sync("pull", "-f", "ada", "--discard").out == "version 0, file unchanged\n"
    ada.unlink()
    (row,) = sync("pull", "-f", "ada", "--discard", "--json").rows
    assert row["file_changed"]
    assert ada.read_text() == DOCUMENT


def test_a_refused_statement_is_shown_with_its_position(url: str) -> None:
    clone(url, "ada")
    refused = penstock("sync", "edit", "-f", "ada", "/menu/dish/name!delete()")
    assert refused.code == 3
    assert "at line 1, column 12 [update.no-target]" in refused.err
    assert "    /menu/dish/name!delete()\n               ^\n" in refused.err
    refused = penstock("sync", "edit", "-f", "ada", "//dish!move(/menu)", "--json")
    assert '"code": "update.cycle"' in refused.err
    assert '"column": 14' in refused.err


def test_an_edit_while_the_file_is_saved(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = clone(url, "ada")
    monkeypatch.setattr(
        "penstock.service.sync.working_directory.WorkingDirectory.take_edits", lambda _self: None
    )
    ada.write_text(DOCUMENT.replace("soup", "broth"))
    refused = penstock("sync", "edit", "-f", "ada", "//dish!delete()")
    assert refused.code == 3
    assert "[sync.file-changed]" in refused.err
    assert "broth" in ada.read_text()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("serve", "--store", "s", "menu.xml"), "sync.insecure"),
        (("serve", "--store", "s", "--insecure"), "sync.document"),
        (("serve", "--store", "s", "--insecure", "--listen", "0.0.0.0:0"), "sync.insecure"),
        (("serve", "--store", "s", "--listen", "0.0.0.0:0"), "sync.insecure"),
        (("serve", "--store", "s", "--listen", "nowhere"), "routing.address"),
        (("serve", "--store", "s", "--insecure", "--basex", "10.0.0.1:1"), "sync.insecure"),
        (("token", "create", "a b", "--store", "s"), "sync.account"),
        (("token", "revoke", "ada", "--store", "s"), "sync.account"),
        (("clone", "menu"), "sync.url"),
        (("clone", "https://127.0.0.1:1/a", "--tls-authorities", "menu.xml"), "sync.tls"),
        (("clone", "http://127.0.0.1:1/a", "--query", "/a["), "query."),
        (("status",), "sync.no-clone"),
        (("push", "-f", "nowhere"), "sync.no-clone"),
    ],
)
def test_refusals_have_a_code(
    folder: Path, arguments: tuple[str, ...], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_BASEX_PASSWORD", "secret")
    done = penstock("sync", *arguments)
    assert done.code == 3
    assert f"[{code}" in done.err


def test_an_address_that_is_taken(server: RunningSyncServer) -> None:
    listen = server.serving.url.removeprefix("http://")
    done = penstock("sync", "serve", "--store", "s", "--insecure", "menu.xml", "--listen", listen)
    assert done.code == 3
    assert "[sync.listen]" in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("serve", "--store", "s", "missing.xml"), "there is no file missing.xml"),
        (("serve", "--store", "s", "menu.xml", "menu=menu.xml"), "given twice"),
        (("serve", "--store", "s", "--listen", "unix:x"), "a host and a port"),
        (("serve", "--store", "s", "--tls-key", "menu.xml"), "a certificate and its key"),
        (("serve", "--store", "s", "--basex", "unix:x"), "a host and a port"),
        (("serve", "--store", "s", "--metrics", "unix:x"), "served over TCP"),
        (("serve", "--store", "s", "--basex", "127.0.0.1:1984"), "password of the user"),
        (("clone", "http://127.0.0.1:1/a", "--namespace", "p"), "is not PREFIX=URI"),
    ],
)
def test_wrong_command_lines(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    done = penstock("sync", *arguments)
    assert done.code == 2
    assert words in " ".join(done.err.split())


def test_tokens(server: RunningSyncServer, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert sync("token", "list", "--store", "store").out == "ada\nbob\n"
    (row,) = sync("token", "create", "eve", "--store", "store", "--json").rows
    Path("eve.token").write_text(row["token"])
    clone(url, "eve")
    sync("token", "revoke", "eve", "--store", "store")
    refused = penstock("sync", "push", "-f", "eve", "--json")
    assert refused.code == 3
    assert '"code": "sync.token"' in refused.err
    renewed = sync("token", "create", "eve", "--store", "store", "--json").rows[0]["token"]
    Path("eve.token").write_text(renewed)
    sync("push", "-f", "eve", "--token-file", "eve.token")
    sync("pull", "-f", "eve")
    monkeypatch.setenv("PENSTOCK_SYNC_TOKEN", renewed)
    sync("clone", url, "by-environment")
    monkeypatch.setenv("PENSTOCK_SYNC_TOKEN", "of.another-server")
    sync("pull", "-f", "by-environment")
    monkeypatch.delenv("PENSTOCK_SYNC_TOKEN")
    refused = penstock("sync", "clone", url, "other")
    assert "[sync.token]" in refused.err
    assert not Path("other").exists()


def test_a_missing_extra_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.extras.find_spec", lambda _name: None)
    done = penstock("sync", "serve", "--store", "s", "menu.xml")
    assert done.code == 3
    assert "[extra.sync]" in done.err


def test_following_prints_changes_at_once_until_it_is_stopped(url: str) -> None:
    ada = clone(url, "ada")
    clone(url, "bob")
    command = [sys.executable, "-m", "penstock", "sync", "pull", "-f", "bob", "--follow", "--json"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ}
    )
    assert process.stdout is not None
    try:
        assert '"version": 0' in process.stdout.readline()
        ada.write_text(DOCUMENT.replace("soup", "broth"))
        sync("push", "-f", "ada")
        assert '"version": 1' in process.stdout.readline()
        assert "broth" in Path("bob/menu.xml").read_text()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (0, "stopped\n")


def test_a_clone_gets_another_part(url: str) -> None:
    ada = clone(url, "ada")
    sync("edit", "-f", "ada", "/menu/dish[1]/*!update('pie')")
    done = sync("subscribe", "/menu/dish[1]", "-f", "ada")
    suspended, summary = done.out.splitlines()
    assert suspended.startswith("suspended: /menu/dish[1]/text()")
    assert summary == "version 0, file changed, 1 statement to push"
    assert "soup" in ada.read_text()
    assert "stew" not in ada.read_text()
    assert "/menu/dish[1]: version 0" in sync("status", "-f", "ada").out
    # What was changed before is pushed all the same.
    assert sync("push", "-f", "ada", "--json").rows[-1]["decided"] == 1
    (row,) = sync("subscribe", "//dish[1]/*", "--language", "xql", "-f", "ada", "--json").rows
    assert (row["type"], row["file_changed"], row["cloned_again"]) == ("subscribe", True, False)
    assert "pie" in ada.read_text()
    assert "soup" not in ada.read_text()
    before = ada.read_text()
    refused = penstock("sync", "subscribe", "//dish[", "-f", "ada")
    assert refused.code == 3
    assert sync("pull", "-f", "ada").out.endswith("file unchanged\n")
    assert ada.read_text() == before
    kinds = [row["kind"] for row in sync("log", "-f", "ada", "--json").rows]
    assert kinds.count("subscribe") == 2


def test_a_subscription_is_changed_when_the_server_is_back(folder: Path) -> None:
    store = folder / "store"
    store.mkdir()
    Path("ada.token").write_text(create_token(store, "ada"))
    with running_sync_server(store, {"menu": folder / "menu.xml"}) as running:
        ada = clone(str(running.url("menu")), "ada")
    refused = penstock("sync", "subscribe", "//dish[1]", "-f", "ada")
    assert "[sync.unreachable]" in refused.err
    assert ada.read_text() == DOCUMENT
    assert "/*: version 0" in sync("status", "-f", "ada").out


def test_clones_are_listed_and_forgotten(url: str) -> None:
    clone(url, "ada")
    clone(url, "bob")
    token = ("--token-file", "ada.token")
    (row,) = sync("clones", url, *token, "--json").rows
    assert row["client"].startswith("ada/desk-")
    assert (row["version"], row["query"]) == (0, "/*")
    assert sync("clones", url, *token).out == f"{row['client']}  version 0, /*\n"
    for flags in ((), ("--json",)):
        refused = penstock("sync", "forget", url, row["client"], *token, *flags)
        assert (refused.code, refused.out) == (2, "")
        assert "--force" in refused.err
    assert sync("clones", url, *token, "--json").rows == [row]
    assert "forgotten" in sync("forget", url, row["client"], *token, "--force").err
    assert sync("clones", url, *token).out == ""
    refused = penstock("sync", "forget", url, row["client"], *token, "--force")
    assert refused.code == 3
    assert "[sync.client-unknown]" in refused.err
    (other,) = sync("clones", url, "--token-file", "bob.token", "--json").rows
    refused = penstock("sync", "forget", url, other["client"], *token, "--force")
    assert "[sync.client-name]" in refused.err
    assert sync("pull", "-f", "ada", "--json").rows[-1]["cloned_again"]


def test_a_forgotten_clone_can_be_pushed(url: str) -> None:
    """The server waited for statements before the first that the clone sent."""
    ada = clone(url, "ada")
    for text in ("broth", "stew"):
        ada.write_text(DOCUMENT.replace("soup", text))
        sync("push", "-f", "ada")
    token = ("--token-file", "ada.token")
    (row,) = sync("clones", url, *token, "--json").rows
    sync("forget", url, row["client"], *token, "--force")
    ada.write_text(DOCUMENT.replace("soup", "curry").replace("</menu>", "<dish>new</dish></menu>"))
    pushed = sync("push", "-f", "ada", "--json").rows
    assert pushed[-1]["cloned_again"]
    assert [each for each in pushed if each["type"] == "report"] == []
    assert "curry" in ada.read_text()
    bob = clone(url, "bob")
    assert "curry" in bob.read_text()
    assert "new" in bob.read_text()
    sync("undo", "-f", "ada")
    sync("push", "-f", "ada")
    assert ada.read_text() == DOCUMENT.replace("soup", "stew")
