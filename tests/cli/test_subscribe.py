"""`penstock subscribe`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from penstock.workspace import Workspace
from support.fixtures.commands import penstock

KEYWORDS = ("--keywords", "storm warning coast")


def ids(*more: str) -> list[str]:
    return [row["id"] for row in penstock("subscriptions", "list", "--json", *more).rows]


def test_subscribing_prints_the_id(workspace_folder: Path) -> None:
    assert penstock("subscribe", "anna", "/a").out == "anna-1\n"
    assert penstock("subscribe", "anna", "/b", "--id", "mine").out == "mine\n"
    assert penstock("subscribe", "anna", "/b", "--id", "mine").out == "mine\n"
    taken = penstock("subscribe", "ben", "/b", "--id", "mine")
    assert taken.code == 3
    assert "subscription.duplicate" in taken.err
    assert ids() == ["anna-1", "mine"]


def test_a_syntax_error_is_marked_with_a_caret(workspace_folder: Path) -> None:
    done = penstock("subscribe", "anna", "/news/item[@lang == 'en']")
    assert done.code == 3
    lines = done.err.splitlines()
    assert lines[1].index("==") + 1 == lines[2].index("^")
    assert ids() == []
    as_json = penstock("subscribe", "anna", "/news[", "--json")
    assert json.loads(as_json.err)["error"]["code"] == "query.syntax"


def test_subscribing_to_keywords(workspace_folder: Path) -> None:
    assert penstock("subscribe", "coastguard", *KEYWORDS).out == "coastguard-1\n"
    penstock("subscribe", "coastguard", "--keywords", "storm OR gale", "--returns", "document")
    penstock("subscribe", "anna", "/a")
    assert penstock("subscriptions", "list").out.splitlines() == [
        "id            subscriber  kind      state   query",
        "anna-1        anna        xpath     active  /a",
        "coastguard-1  coastguard  keywords  active  storm warning coast",
        "coastguard-2  coastguard  keywords  active  storm OR gale",
    ]
    with Workspace.open(workspace_folder) as workspace:
        returns = [each.returns for each in workspace.subscriptions.each()]
    assert returns == ["document", "fragments", "document"]
    assert penstock("subscribe", "ben", "--keywords", "a b", "--json").rows == [
        {
            "id": "ben-1",
            "subscriber": "ben",
            "kind": "keywords",
            "query": "a b",
            "never_matches": None,
        }
    ]


def test_invalid_keywords_are_refused(workspace_folder: Path) -> None:
    empty = penstock("subscribe", "anna", "--keywords", " -- ")
    assert (empty.code, "keywords.none" in empty.err) == (3, True)
    mixed = penstock("subscribe", "anna", "--keywords", "storm OR gale warning")
    assert (mixed.code, "keywords.mixed" in mixed.err) == (3, True)
    lines = mixed.err.splitlines()
    assert lines[1].index("warning") == lines[2].index("^")
    many = " ".join(f"w{number}" for number in range(1_001))
    assert "keywords.too-many" in penstock("subscribe", "anna", "--keywords", many).err
    long = penstock("subscribe", "anna", "--keywords", "w" * 257)
    assert "keywords.word-too-long" in long.err
    assert ids() == []


def test_a_subscription_has_one_kind(workspace_folder: Path) -> None:
    neither = penstock("subscribe", "anna")
    assert (neither.code, "--keywords" in neither.err) == (2, True)
    assert penstock("subscribe", "anna", "/a", *KEYWORDS).code == 2
    for option in ("--namespace=p=urn:p", "--default-namespace=urn:d"):
        done = penstock("subscribe", "anna", *KEYWORDS, option)
        assert (done.code, option.partition("=")[0] in done.err) == (2, True)
    assert ids() == []


def test_words_given_as_xpath_come_with_advice(workspace_folder: Path) -> None:
    assert "--keywords WORDS" in penstock("subscribe", "anna", "storm warning").err
    assert "--keywords" not in penstock("subscribe", "anna", "/storm /warning[").err
    assert "--keywords" not in penstock("subscribe", "anna", "storm warning", "--json").err


def test_every_option_is_stored(workspace_folder: Path) -> None:
    done = penstock(
        *("subscribe", "anna", "/p:a/b", "--namespace", "p=urn:p", "--default-namespace", "urn:d"),
        *("--returns", "fragments", "--starts", "2026-05-01T12:00", "--expires", "2100-01-01"),
        *("--backfill", "--json"),
    )
    assert done.rows == [
        {
            "id": "anna-1",
            "subscriber": "anna",
            "query": "/p:a/b",
            "namespaces": {"p": "urn:p"},
            "default_namespace": "urn:d",
            "returns": "fragments",
            "starts_at": "2026-05-01T12:00:00+00:00",
            "expires_at": "2100-01-01T00:00:00+00:00",
            "backfill": "wanted",
            "never_matches": None,
        }
    ]


def test_times_may_be_relative_to_now(workspace_folder: Path) -> None:
    before = datetime.now(UTC)
    penstock("subscribe", "anna", "/a", "--starts", "90m", "--expires", "7d")
    with Workspace.open(workspace_folder) as workspace:
        stored = workspace.subscriptions.get("anna-1")
    assert stored.starts_at is not None
    assert stored.expires_at is not None
    assert stored.expires_at - stored.starts_at > timedelta(days=6, hours=22)
    assert stored.starts_at >= before + timedelta(minutes=90)
    bad = penstock("subscribe", "anna", "/a", "--starts", "tomorrow")
    assert (bad.code, "--starts" in bad.err) == (2, True)
    backwards = penstock("subscribe", "anna", "/a", "--starts", "2h", "--expires", "1h")
    assert (backwards.code, "subscription.times" in backwards.err) == (3, True)


def test_a_query_that_never_matches_is_noted_and_stored(workspace_folder: Path) -> None:
    (workspace_folder / "news.dtd").write_text("<!ELEMENT news (item*)><!ELEMENT item (#PCDATA)>")
    plain = penstock("subscribe", "anna", "/news/sport")
    assert "never" not in plain.err
    flagged = penstock("subscribe", "anna", "/news/sport", "--dtd", "news.dtd")
    assert (flagged.code, flagged.out) == (0, "anna-2\n")
    assert "never matches" in flagged.err
    itself = penstock("subscribe", "anna", "/a[@n < 1][@n > 2]", "--json").rows[0]
    assert itself["never_matches"]
    (workspace_folder / "bad.dtd").write_text("<!ELEMENT")
    bad = penstock("subscribe", "anna", "/a", "--dtd", "bad.dtd")
    assert (bad.code, "bad.dtd:1:" in bad.err) == (3, True)
