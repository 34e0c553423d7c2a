"""`penstock mailbox`: deliveries as text, JSON and files."""

from __future__ import annotations

import base64
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.documents import Document, Header
from penstock.workspace import Workspace
from penstock.workspace.atomic_files import AtomicFiles
from support.fixtures.commands import penstock
from support.fixtures.repository import ROOT


def test_a_mailbox_shows_deliveries_in_publishing_order(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "/news")
    penstock("subscribe", "anna", "/news/item", "--returns", "fragments")
    penstock("subscribe", "ben", "/weather")
    penstock("publish", "b.xml", "--publisher", "me")
    process_inbox()
    penstock("publish", "a.xml", "c.xml", "--publisher", "me")
    process_inbox()
    done = penstock("mailbox", "anna")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()]
    assert [(line[0], line[3]) for line in lines if "from" in line] == [
        ("1", "anna-1"),
        ("1", "anna-2"),
        ("2", "anna-1"),
        ("2", "anna-2"),
    ]
    assert "          <news> <item n='1'>one</item> <item n='2'/> </news>" in done.out.splitlines()
    assert done.err == "4 deliveries\n"
    assert penstock("mailbox", "ben").err == "1 delivery\n"


def test_keywords_deliver_the_part_that_contains_them(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "--keywords", "One NEWS")
    penstock("subscribe", "anna", "--keywords", "weather OR one", "--returns", "document")
    penstock("publish", "a.xml", "b.xml", "c.xml", "--publisher", "me")
    process_inbox()
    part, *documents = penstock("mailbox", "anna", "--json").rows
    assert (part["subscription"], part["sequence"]) == ("anna-1", 1)
    assert [each["kind"] for each in part["fragments"]] == ["path"]
    assert " ".join(part["fragments"][0]["xml"].split()) == "<news> <item n='1'>one</item> </news>"
    assert [(row["sequence"], "content" in row) for row in documents] == [(1, True), (3, True)]
    assert "<item n='1'>one</item>" in penstock("mailbox", "anna").out


def test_json_has_everything(process_inbox: Callable[[], None], tmp_path: Path) -> None:
    (tmp_path / "latin.xml").write_bytes(
        "<?xml version='1.0' encoding='ISO-8859-1'?><a>ä</a>".encode("latin-1")
    )
    penstock("subscribe", "anna", "/weather")
    penstock("subscribe", "anna", "/a/text()", "--returns", "fragments")
    penstock("subscribe", "anna", "/a")
    penstock("publish", "c.xml", "latin.xml", "--publisher", "me")
    process_inbox()
    rows = {row["subscription"]: row for row in penstock("mailbox", "anna", "--json").rows}
    assert rows["anna-1"]["content"] == "<weather/>"
    assert (rows["anna-1"]["publisher"], rows["anna-1"]["sequence"]) == ("me", 1)
    assert "ä" in rows["anna-2"]["fragments"][0]["xml"]
    content = base64.b64decode(rows["anna-3"]["content_base64"])
    assert content == (tmp_path / "latin.xml").read_bytes()


def test_only_the_newest_are_shown(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "//*")
    penstock("publish", "a.xml", "b.xml", "c.xml", "--publisher", "me")
    process_inbox()
    done = penstock("mailbox", "anna", "--limit", "1")
    assert "<weather/>" in done.out
    assert len(done.out.splitlines()) == 2
    assert done.err == "the newest 1 of 3 deliveries\n"
    assert penstock("mailbox", "anna", "--limit", "0").out == ""
    assert len(penstock("mailbox", "anna", "--limit", "2", "--json").rows) == 2


def test_an_unknown_subscriber_is_an_error_but_an_empty_mailbox_is_not(
    process_inbox: Callable[[], None],
) -> None:
    penstock("subscribe", "anna", "/news")
    assert penstock("mailbox", "anna").err == "0 deliveries\n"
    process_inbox()
    assert penstock("mailbox", "anna").code == 0
    unknown = penstock("mailbox", "ana")
    assert (unknown.code, "subscriber.unknown" in unknown.err) == (3, True)


def test_a_mailbox_outlives_its_subscriptions(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "/weather")
    penstock("publish", "c.xml", "--publisher", "me")
    process_inbox()
    penstock("unsubscribe", "anna-1", "--force")
    assert penstock("mailbox", "anna").err == "1 delivery\n"


def test_export_writes_original_bytes_and_only_new_files(
    process_inbox: Callable[[], None], tmp_path: Path
) -> None:
    penstock("subscribe", "anna", "/news", "--id", "a/b c")
    penstock("subscribe", "anna", "/news/item", "--id", "parts", "--returns", "fragments")
    penstock("publish", "a.xml", "--publisher", "me")
    process_inbox()
    done = penstock("mailbox", "anna", "--export", "out")
    assert (done.out, done.err) == ("", "2 deliveries: 3 new files in out\n")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [name.rpartition("-")[0][:22] for name in names] == [
        "000000000001-a%2Fb c",
        "000000000001-parts-" + names[1].split("-")[2][:3],
        "000000000001-parts-" + names[2].split("-")[2][:3],
    ]
    assert (tmp_path / "out" / names[0]).read_bytes() == (tmp_path / "a.xml").read_bytes()
    assert (tmp_path / "out" / names[1]).read_text() == "<item n='1'>one</item>"
    penstock("publish", "b.xml", "--publisher", "me")
    process_inbox()
    again = penstock("mailbox", "anna", "--export", "out", "--json")
    assert [row["sequence"] for row in again.rows] == [2, 2]


def test_an_export_flushes_many_files_at_once_and_leaves_nothing_behind(
    process_inbox: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    penstock("subscribe", "anna", "/news")
    with Workspace.open(tmp_path) as workspace:
        workspace.publish(
            Document(b"<news>%d</news>" % number, Header(publisher="me")) for number in range(250)
        )
    process_inbox()
    monkeypatch.setattr("penstock.workspace.limits.EXPORTED_FILES_AT_ONCE", 100)
    commits: list[int] = []
    commit = AtomicFiles.commit

    def counted(files: AtomicFiles) -> None:
        commits.append(len(files))
        commit(files)

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(AtomicFiles, "commit", stop)
        penstock("mailbox", "anna", "--export", "out")
    assert list((tmp_path / "out").iterdir()) == []
    monkeypatch.setattr(AtomicFiles, "commit", counted)
    done = penstock("mailbox", "anna", "--export", "out")
    assert done.err == "250 deliveries: 250 new files in out\n"
    assert commits == [100, 100, 50]
    contents = {path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert contents == {b"<news>%d</news>" % number for number in range(250)}


def test_follow_prints_later_deliveries(process_inbox: Callable[[], None], tmp_path: Path) -> None:
    penstock("subscribe", "anna", "//*")
    penstock("publish", "a.xml", "--publisher", "me")
    process_inbox()
    # A shell without job control makes its background processes ignore interrupts.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    follower = subprocess.Popen(
        [sys.executable, "-u", "-m", "penstock", "mailbox", "anna", "--follow", "--json"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = threading.Timer(120, follower.kill)  # a failing test must not wait forever
    deadline.start()
    try:
        assert follower.stdout is not None
        assert '"sequence": 1' in follower.stdout.readline()
        for number, name in ((2, "b.xml"), (3, "c.xml")):
            penstock("publish", name, "--publisher", "me")
            process_inbox()
            assert f'"sequence": {number}' in follower.stdout.readline()
    finally:
        follower.send_signal(signal.SIGINT)
        _, errors = follower.communicate()
        deadline.cancel()
    assert (follower.returncode, errors.splitlines()[-1]) == (0, "stopped")


def test_a_cursor_shows_what_it_has_not_acknowledged(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "//*")
    penstock("publish", "a.xml", "b.xml", "--publisher", "me")
    process_inbox()

    def shown(*options: str) -> list[int]:
        done = penstock("mailbox", "anna", "--cursor", "app", "--json", *options)
        assert done.code == 0
        return [row["sequence"] for row in done.rows]

    assert shown() == [1, 2]
    assert shown("--acknowledge", "--limit", "1") == [1]
    assert shown("--acknowledge") == [2]
    assert shown("--acknowledge") == []
    penstock("publish", "c.xml", "--publisher", "me")
    process_inbox()
    assert shown() == [3]
    assert penstock("mailbox", "anna", "--cursor", "app", "--limit", "0").code == 0
    assert penstock("mailbox", "nobody", "--cursor", "app").code == 3
    refused = penstock("mailbox", "anna", "--acknowledge")
    assert refused.code == 2
    assert "--cursor" in refused.err
