"""`penstock publish`: files into the inbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands.publish import login_name
from penstock.workspace import Workspace
from support.fixtures.commands import penstock


@pytest.fixture
def publish_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace with three documents."""
    monkeypatch.chdir(tmp_path)
    penstock("init")
    for name, text in (("a.xml", "<a/>"), ("b.xml", "<b/>"), ("broken.xml", "<a>")):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_rows_show_the_number_of_each_document(publish_folder: Path) -> None:
    done = penstock("publish", "a.xml", "broken.xml", "--publisher", "me")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()] == [["1", "a.xml"], ["2", "broken.xml"]]
    assert done.err == "2 documents published\n"
    again = penstock("publish", "b.xml", "a.xml", "--publisher", "me")
    assert again.out.splitlines()[1].split() == ["1", "a.xml", "(already", "known)"]
    assert again.err == "1 document published, 1 already known\n"


def test_header_fields_are_published(publish_folder: Path) -> None:
    done = penstock(
        *("publish", "a.xml", "--publisher", "me", "--schema", "news", "--id", "7"),
        *("--header", "region=north", "--header", "kind=x=y", "--json"),
    )
    assert done.rows[0]["document"] == "me/7"
    refusal = "the schema `news` of `me` is not registered"
    summary = {"type": "summary", "published": 1, "known": 0, "refusal": refusal}
    assert done.rows[1] == summary
    with Workspace.open(publish_folder) as workspace:
        found = workspace.inbox.find("me/7")
    assert found is not None
    fields = {"file": "a.xml", "region": "north", "kind": "x=y"}
    assert (found.header.schema, found.header.fields) == ("news", fields)


def test_an_identity_is_for_one_file(publish_folder: Path) -> None:
    done = penstock("publish", "a.xml", "b.xml", "--id", "7")
    assert (done.code, "--id" in done.err) == (2, True)
    bad = penstock("publish", "a.xml", "--header", "region")
    assert (bad.code, "FIELD=VALUE" in bad.err) == (2, True)
    assert list((publish_folder / "inbox").iterdir()) == []


def test_the_default_publisher_is_the_login_name(
    publish_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getuser", lambda: "anna")
    assert penstock("publish", "a.xml", "--json").rows[0]["document"].startswith("anna/")

    def nobody() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert login_name() == "anonymous"


def test_a_full_disk_is_reported(publish_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("penstock.workspace.journal_appender._write_all", full)
    done = penstock("publish", "a.xml")
    assert done.code == 3
    assert "workspace.full" in done.err
    assert "nothing is lost" in done.err
