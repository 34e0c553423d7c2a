"""Header fields on the command line: `--where`, `--header`, files, lists, deliveries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from support.fixtures.commands import penstock


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.xml").write_text("<news><item>storm</item></news>", "utf-8")
    return tmp_path


def test_documents_are_delivered_by_their_header(process_inbox: Callable[[], None]) -> None:
    where = ("--where", "publisher=reuters", "--where", "lang=en")
    assert penstock("subscribe", "anna", "//item", *where).out == "anna-1\n"
    penstock("subscribe", "anna", "--keywords", "one OR nothing", *where)
    penstock("publish", "a.xml", "--publisher", "reuters", "--header", "lang=en")
    penstock("publish", "a.xml", "b.xml", "--publisher", "ap", "--header", "lang=en")
    penstock("publish", "b.xml", "--publisher", "reuters", "--header", "lang=fr")
    process_inbox()
    rows = penstock("mailbox", "anna", "--json").rows
    assert [(row["subscription"], row["publisher"]) for row in rows] == [
        ("anna-1", "reuters"),
        ("anna-2", "reuters"),
    ]
    assert "anna-1 matched" in penstock("explain", "anna-1", "1").out
    failed = penstock("explain", "anna-1", "2").out
    assert "the header field publisher must be reuters; it is ap" in failed
    file = penstock("explain", "anna-2", "a.xml", "--header", "lang=en").out
    assert "the header field publisher must be reuters; there is no such field" in file
    (row,) = penstock("explain", "anna-1", "2", "--json").rows
    assert (row["matched"], row["header_failures"]) == (
        False,
        {"publisher": {"required": "reuters", "actual": "ap"}},
    )


def test_header_tests_are_listed_exported_and_imported(workspace_folder: Path) -> None:
    penstock("subscribe", "anna", "/a", "--where", "lang=en", "--where", "kind=a b=c")
    penstock("subscribe", "ben", "/b")
    listed = penstock("subscriptions", "list").out.splitlines()
    assert listed[0].split() == ["id", "subscriber", "kind", "state", "where", "query"]
    assert "kind=a b=c, lang=en  /a" in listed[1]
    assert "where" not in penstock("subscriptions", "list", "--subscriber", "ben").out
    for name in ("out.jsonl", "out.csv"):
        penstock("subscriptions", "export", name)
        penstock("init", f"from-{name}")
        penstock("subscriptions", "import", name, "-w", f"from-{name}")
        rows = penstock("subscriptions", "list", "-w", f"from-{name}", "--json").rows
        assert rows[0]["where"] == {"lang": "en", "kind": "a b=c"}
        assert "where" not in rows[1]


def test_subscribing_again_with_another_test_is_another_request(workspace_folder: Path) -> None:
    first = ("subscribe", "anna", "/a", "--id", "x", "--where", "lang=en")
    assert penstock(*first).code == 0
    assert penstock(*first).code == 0
    other = penstock("subscribe", "anna", "/a", "--id", "x", "--where", "lang=fr")
    assert (other.code, "subscription.duplicate" in other.err) == (3, True)


def test_a_file_declares_header_tests(folder: Path) -> None:
    (folder / "subs.txt").write_text(
        "all\t//item\n@where publisher=reuters\none\t//item\n@where lang = en\n"
        "two\t//item\n@kind keywords\nwords\tstorm\n@where\nfree\tstorm\n",
        "utf-8",
    )
    (folder / "subs.jsonl").write_text(
        json.dumps({"id": "two", "query": "//item", "where": {"lang": "en"}}) + "\n", "utf-8"
    )
    for header, expected in (
        ([], "all, free"),
        (["--header", "publisher=reuters"], "all, one, free"),
        (["--header", "publisher=reuters", "--header", "lang=en"], "all, one, two, words, free"),
    ):
        out = penstock("match", *header, "subs.txt", "a.xml").out
        assert out.split(maxsplit=2)[2].strip() == expected
    assert " 1  two" in penstock("match", "--header", "lang=en", "subs.jsonl", "a.xml").out
    assert " 0" in penstock("match", "subs.jsonl", "a.xml").out
    reference = penstock("match", "--engine", "reference", "subs.txt", "a.xml").out
    assert reference == penstock("match", "subs.txt", "a.xml").out


@pytest.mark.parametrize(
    ("lines", "code"),
    [("@where lang\na\t/a\n", "subscription-file.directive")],
)
def test_a_malformed_directive_is_refused(folder: Path, lines: str, code: str) -> None:
    (folder / "subs.txt").write_text(lines, "utf-8")
    done = penstock("match", "subs.txt", "a.xml")
    assert (done.code, code in done.err) == (3, True)


def test_try_tests_a_header(folder: Path) -> None:
    query = ("//item", "--where", "lang=en", "a.xml")
    assert "matched 1 of 1" in penstock("try", *query, "--header", "lang=en").err
    missed = penstock("try", *query, "--header", "lang=fr").err
    assert "matched 0 of 1" in missed
    assert "the header field lang must be en; it is fr" in missed
    words = ("--keywords", "storm", "--where", "lang=en", "a.xml")
    assert "matched 1 of 1" in penstock("try", *words, "--header", "lang=en").err
    assert "matched 0 of 1" in penstock("try", *words).err


@pytest.mark.parametrize("option", ["--where", "--header"])
def test_a_malformed_field_is_a_usage_error(folder: Path, option: str) -> None:
    done = penstock("try", "//item", option, "lang", "a.xml")
    assert (done.code, "FIELD=VALUE" in done.err) == (2, True)


def test_an_invalid_test_is_refused(workspace_folder: Path) -> None:
    done = penstock("subscribe", "anna", "/a", "--where", "a=\x01")
    assert (done.code, "[subscription.where]" in done.err) == (3, True)


def test_a_replay_can_change_the_header(process_inbox: Callable[[], None], tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<news>", "utf-8")
    (tmp_path / "good.xml").write_text("<news><item/></news>", "utf-8")
    penstock("subscribe", "anna", "//item", "--where", "lang=en")
    penstock("publish", "bad.xml", "--publisher", "p", "--header", "lang=fr")
    process_inbox()
    replay = ("dead-letters", "replay", "1", "--with", "good.xml", "--header", "lang=en")
    assert penstock(*replay).code == 0
    process_inbox()
    assert penstock("mailbox", "anna").err == "1 delivery\n"
