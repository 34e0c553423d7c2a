"""`penstock init`, `subscribe` and its companions, and `subscriptions`."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from penstock.workspace import Workspace
from support.fixtures.commands import penstock, penstock_process


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace, and the folder that commands are run in."""
    monkeypatch.chdir(tmp_path)
    assert penstock("init").code == 0
    return tmp_path


KEYWORDS = ("--keywords", "storm warning coast")


def ids(*more: str) -> list[str]:
    return [row["id"] for row in penstock("subscriptions", "list", "--json", *more).rows]


def test_init_makes_a_workspace_once(tmp_path: Path) -> None:
    folder = str(tmp_path / "w")
    done = penstock("init", folder)
    assert (done.code, done.out) == (0, "")
    assert "penstock subscribe" in done.err
    again = penstock("init", folder)
    assert again.code == 3
    assert "workspace.exists" in again.err
    assert penstock("init", str(tmp_path / "v"), "--json").rows == [
        {"workspace": str(tmp_path / "v")}
    ]


def test_a_folder_that_is_no_workspace_says_what_to_do(tmp_path: Path) -> None:
    done = penstock("subscribe", "anna", "/a", "-w", str(tmp_path))
    assert done.code == 3
    assert "workspace.missing" in done.err
    assert "penstock init" in done.err


def test_the_workspace_may_come_from_the_environment(tmp_path: Path) -> None:
    penstock("init", str(tmp_path))
    done = penstock_process("subscribe", "anna", "/a", PENSTOCK_WORKSPACE=str(tmp_path))
    assert (done.code, done.out) == (0, "anna-1\n")


def test_subscribing_prints_the_id(here: Path) -> None:
    assert penstock("subscribe", "anna", "/a").out == "anna-1\n"
    assert penstock("subscribe", "anna", "/b", "--id", "mine").out == "mine\n"
    assert penstock("subscribe", "anna", "/b", "--id", "mine").out == "mine\n"
    taken = penstock("subscribe", "ben", "/b", "--id", "mine")
    assert taken.code == 3
    assert "subscription.duplicate" in taken.err
    assert ids() == ["anna-1", "mine"]


def test_a_typo_is_pointed_at(here: Path) -> None:
    done = penstock("subscribe", "anna", "/news/item[@lang == 'en']")
    assert done.code == 3
    lines = done.err.splitlines()
    assert lines[1].index("==") + 1 == lines[2].index("^")
    assert ids() == []
    as_json = penstock("subscribe", "anna", "/news[", "--json")
    assert json.loads(as_json.err)["error"]["code"] == "query.syntax"


def test_keywords_are_subscribed_to_in_place_of_an_xpath(here: Path) -> None:
    assert penstock("subscribe", "coastguard", *KEYWORDS).out == "coastguard-1\n"
    penstock("subscribe", "coastguard", "--keywords", "storm OR gale", "--returns", "document")
    penstock("subscribe", "anna", "/a")
    assert penstock("subscriptions", "list").out.splitlines() == [
        "id            subscriber  kind      state   query",
        "anna-1        anna        xpath     active  /a",
        "coastguard-1  coastguard  keywords  active  storm warning coast",
        "coastguard-2  coastguard  keywords  active  storm OR gale",
    ]
    with Workspace.open(here) as workspace:
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


def test_keywords_that_say_nothing_are_pointed_at(here: Path) -> None:
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


def test_a_subscription_is_of_one_kind(here: Path) -> None:
    neither = penstock("subscribe", "anna")
    assert (neither.code, "--keywords" in neither.err) == (2, True)
    assert penstock("subscribe", "anna", "/a", *KEYWORDS).code == 2
    for option in ("--namespace=p=urn:p", "--default-namespace=urn:d"):
        done = penstock("subscribe", "anna", *KEYWORDS, option)
        assert (done.code, option.partition("=")[0] in done.err) == (2, True)
    assert ids() == []


def test_words_given_as_an_xpath_are_told_of_keywords(here: Path) -> None:
    assert "--keywords WORDS" in penstock("subscribe", "anna", "storm warning").err
    assert "--keywords" not in penstock("subscribe", "anna", "/storm /warning[").err
    assert "--keywords" not in penstock("subscribe", "anna", "storm warning", "--json").err


def test_everything_that_can_be_said_is_kept(here: Path) -> None:
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


def test_times_may_be_said_from_now(here: Path) -> None:
    before = datetime.now(UTC)
    penstock("subscribe", "anna", "/a", "--starts", "90m", "--expires", "7d")
    with Workspace.open(here) as workspace:
        stored = workspace.subscriptions.get("anna-1")
    assert stored.starts_at is not None
    assert stored.expires_at is not None
    assert stored.expires_at - stored.starts_at > timedelta(days=6, hours=22)
    assert stored.starts_at >= before + timedelta(minutes=90)
    bad = penstock("subscribe", "anna", "/a", "--starts", "tomorrow")
    assert (bad.code, "--starts" in bad.err) == (2, True)
    backwards = penstock("subscribe", "anna", "/a", "--starts", "2h", "--expires", "1h")
    assert (backwards.code, "subscription.times" in backwards.err) == (3, True)


def test_what_can_never_match_is_flagged_and_kept(here: Path) -> None:
    (here / "news.dtd").write_text("<!ELEMENT news (item*)><!ELEMENT item (#PCDATA)>")
    plain = penstock("subscribe", "anna", "/news/sport")
    assert "never" not in plain.err
    flagged = penstock("subscribe", "anna", "/news/sport", "--dtd", "news.dtd")
    assert (flagged.code, flagged.out) == (0, "anna-2\n")
    assert "never matches" in flagged.err
    itself = penstock("subscribe", "anna", "/a[@n < 1][@n > 2]", "--json").rows[0]
    assert itself["never_matches"]
    (here / "bad.dtd").write_text("<!ELEMENT")
    bad = penstock("subscribe", "anna", "/a", "--dtd", "bad.dtd")
    assert (bad.code, "bad.dtd:1:" in bad.err) == (3, True)


def test_unsubscribe_pause_and_resume(here: Path) -> None:
    for number in range(3):
        penstock("subscribe", "anna", f"/a{number}")
    assert "2 subscriptions paused" in penstock("pause", "anna-1", "anna-2").err
    assert penstock("resume", "anna-2", "--json").rows == [{"resumed": ["anna-2"]}]
    assert penstock("unsubscribe", "anna-3").code == 0
    unknown = penstock("unsubscribe", "anna-1", "anna-3")
    assert (unknown.code, "subscription.unknown" in unknown.err) == (3, True)
    rows = penstock("subscriptions", "list", "--json").rows
    assert [(row["id"], row["state"]) for row in rows] == [
        ("anna-1", "paused"),
        ("anna-2", "active"),
    ]


def test_the_list_tells_states_and_may_be_cut(here: Path) -> None:
    penstock("subscribe", "anna", "/a", "--expires", "2026-01-01")
    penstock("subscribe", "anna", "/b", "--starts", "2100-01-01")
    penstock("subscribe", "ben", "/c", "--backfill")
    done = penstock("subscriptions", "list")
    assert done.out.splitlines() == [
        "id      subscriber  kind   state                    query",
        "anna-1  anna        xpath  expired                  /a",
        "anna-2  anna        xpath  starts 2100-01-01 00:00  /b",
        "ben-1   ben         xpath  backfill wanted          /c",
    ]
    assert done.err == "3 subscriptions\n"
    cut = penstock("subscriptions", "list", "--limit", "1")
    assert len(cut.out.splitlines()) == 2
    assert "the first 1 of 3" in cut.err
    assert ids("--subscriber", "ben") == ["ben-1"]
    assert penstock("subscriptions", "list", "--subscriber", "cleo").out == ""


# Import and export.


def test_lines_of_text_are_imported(here: Path) -> None:
    (here / "s.txt").write_text(
        "@namespace p=urn:p\none\t/p:a\n@kind keywords\nwords\ta b\n@kind xpath\ntwo\t/b\n"
    )
    done = penstock("subscriptions", "import", "s.txt")
    assert (done.code, done.err) == (0, "3 subscriptions added, 0 refused\n")
    penstock("subscriptions", "import", "s.txt", "--subscriber", "anna")
    rows = penstock("subscriptions", "list", "--json").rows
    assert [(row["id"], row["subscriber"]) for row in rows] == [
        (name, name) for name in ("one", "two", "words")
    ]
    assert rows[0]["namespaces"] == rows[1]["namespaces"] == {"p": "urn:p"}
    assert (rows[2]["kind"], "namespaces" in rows[2]) == ("keywords", False)
    with Workspace.open(here) as workspace:
        assert workspace.subscriptions.get("words").returns == "fragments"


def test_bad_lines_are_told_and_do_not_keep_the_others_out(here: Path) -> None:
    lines = [
        b"one\t/a",
        b"two /b",
        b"@wrong",
        b"three\t/c[",
        b"four\t/\xff",
        b"five\t /d",
        b"one\t/e",
        b"@kind keywords",
        b"six\t -- ",
        b"seven\ta OR b c",
    ]
    (here / "s.txt").write_bytes(b"\n".join(lines))
    done = penstock("subscriptions", "import", "s.txt", "--subscriber", "anna")
    assert done.code == 0
    assert ids() == ["five", "one"]
    assert [line.split(": ")[1] for line in done.err.splitlines() if "error" in line] == [
        "s.txt:2:7",
        "s.txt:3:1",
        "s.txt:5:7",
        "s.txt:4:10",
        "s.txt:7:5",
        "s.txt:9:6",
        "s.txt:10:14",
    ]
    assert done.err.endswith("2 subscriptions added, 7 refused\n")
    strict = penstock("subscriptions", "import", "s.txt", "--subscriber", "anna", "--strict")
    assert strict.code == 3
    assert strict.err.endswith("0 subscriptions added, 2 were there already, 7 refused\n")


def test_refused_lines_past_a_number_are_only_counted(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cli.subscription_lists.SHOWN_REFUSALS_MAX", 2)
    (here / "s.txt").write_text("nothing\n" * 5)
    done = penstock("subscriptions", "import", "s.txt")
    assert done.err.count("error:") == 2
    assert "and 3 more lines were refused" in done.err
    assert len(penstock("subscriptions", "import", "s.txt", "--json").rows) == 6


JSON_ROWS = [
    ({"query": "/a"}, "subscriber"),
    ({"id": "x"}, "query"),
    ({"id": "x", "query": "/a", "color": "red"}, "color"),
    ({"id": "x", "query": "/a", "namespaces": {"p": 1}}, "namespaces"),
    ({"id": "x", "query": "/a", "paused": "yes"}, "paused"),
    ({"id": "x", "query": "/a", "backfill": "soon"}, "backfill"),
    ({"id": "x", "query": "/a", "starts_at": "soon"}, "soon"),
    ({"id": 7, "query": "/a"}, "id"),
    ({"id": "x", "query": "a", "kind": "regex"}, "kind"),
    ({"id": "x", "query": "a", "kind": "keywords", "namespaces": {"p": "urn:p"}}, "namespace"),
]


@pytest.mark.parametrize(("row", "told"), JSON_ROWS)
def test_rows_of_the_wrong_shape_are_refused(here: Path, row: object, told: str) -> None:
    (here / "s.jsonl").write_text(f"{json.dumps(row)}\n\n")
    (refused, summary) = penstock("subscriptions", "import", "s.jsonl", "--json").rows
    assert refused["error"]["code"] == "subscription-file.line"
    assert told in refused["error"]["message"]
    assert summary["refused"] == 1


def test_what_is_no_json_is_refused_line_by_line(here: Path) -> None:
    (here / "s.jsonl").write_text('{"id": "a", "query": "/a"}\n[1]\n{"id"\n{"query": "/b"}\n')
    rows = penstock("subscriptions", "import", "s.jsonl", "--subscriber", "anna", "--json").rows
    assert [row.get("place") for row in rows] == ["s.jsonl:2:1", "s.jsonl:3:6", None]
    assert ids() == ["a", "anna-2"]


def test_csv_of_any_order_is_imported(here: Path) -> None:
    (here / "s.csv").write_text(
        "subscriber,query,namespaces,paused\n"
        'anna,"/p:a[@x=""1,2""]",p=urn:p q=urn:q,true\n'
        "ben,/b,,false\n"
        "cleo,/c,,,too,many\n"
        "dora,/d,,perhaps\n"
        "emil,/e,p,\n"
    )
    rows = penstock("subscriptions", "import", "s.csv", "--json").rows
    assert [row["place"] for row in rows[:-1]] == ["s.csv:4:1", "s.csv:5:1", "s.csv:6:1"]
    listed = penstock("subscriptions", "list", "--json").rows
    assert [row["id"] for row in listed] == ["anna-1", "ben-1"]
    assert listed[0]["query"] == '/p:a[@x="1,2"]'
    assert listed[0]["namespaces"] == {"p": "urn:p", "q": "urn:q"}
    assert listed[0]["state"] == "paused"


def test_broken_csv_is_refused(here: Path) -> None:
    (here / "s.csv").write_text('id,query\na,"/a\n')
    (refused, _) = penstock("subscriptions", "import", "s.csv", "--json").rows
    assert "CSV" in refused["error"]["message"]


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
def test_an_export_can_be_imported(here: Path, name: str) -> None:
    penstock("subscribe", "anna", "/p:a[@x='ä, \"']", "--namespace", "p=urn:p", "--backfill")
    penstock("subscribe", "ben", "/b", "--starts", "2100-01-01", "--returns", "fragments")
    penstock("pause", "ben-1")
    penstock("subscribe", "cleo", *KEYWORDS)
    penstock("subscribe", "cleo", *KEYWORDS, "--returns", "document")
    before = penstock("subscriptions", "list", "--json").rows
    assert "4 subscriptions written" in penstock("subscriptions", "export", name).err
    penstock("init", "other")
    penstock("subscriptions", "import", name, "-w", "other")
    assert penstock("subscriptions", "list", "--json", "-w", "other").rows == before
    assert penstock("subscriptions", "export", name, "--json").rows == [
        {"subscriptions": 4, "file": name}
    ]


def test_export_goes_to_stdout_by_default(here: Path) -> None:
    penstock("subscribe", "anna", "/a")
    done = penstock("subscriptions", "export")
    assert done.rows == [{"id": "anna-1", "subscriber": "anna", "query": "/a"}]
    assert done.err == "1 subscription written\n"
