"""`penstock subscriptions`: list, import and export."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.workspace import Workspace
from support.fixtures.commands import penstock

KEYWORDS = ("--keywords", "storm warning coast")


def ids(*more: str) -> list[str]:
    return [row["id"] for row in penstock("subscriptions", "list", "--json", *more).rows]


def test_list_shows_states_and_respects_the_limit(workspace_folder: Path) -> None:
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


def test_text_lines_are_imported(workspace_folder: Path) -> None:
    (workspace_folder / "s.txt").write_text(
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
    with Workspace.open(workspace_folder) as workspace:
        assert workspace.subscriptions.get("words").returns == "fragments"


def test_malformed_lines_are_reported_and_the_others_imported(workspace_folder: Path) -> None:
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
    (workspace_folder / "s.txt").write_bytes(b"\n".join(lines))
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
    assert strict.err.endswith("0 subscriptions added, 2 already known, 7 refused\n")


def test_refused_lines_above_the_limit_are_only_counted(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.cli.commands.subscriptions.SHOWN_ERRORS_MAX", 2)
    (workspace_folder / "s.txt").write_text("nothing\n" * 5)
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


@pytest.mark.parametrize(("row", "expected"), JSON_ROWS)
def test_malformed_rows_are_refused(workspace_folder: Path, row: object, expected: str) -> None:
    (workspace_folder / "s.jsonl").write_text(f"{json.dumps(row)}\n\n")
    (refused, summary) = penstock("subscriptions", "import", "s.jsonl", "--json").rows
    assert refused["error"]["code"] == "subscription-file.line"
    assert expected in refused["error"]["message"]
    assert summary["refused"] == 1


def test_lines_that_are_not_json_are_refused(workspace_folder: Path) -> None:
    (workspace_folder / "s.jsonl").write_text(
        '{"id": "a", "query": "/a"}\n[1]\n{"id"\n{"query": "/b"}\n'
    )
    rows = penstock("subscriptions", "import", "s.jsonl", "--subscriber", "anna", "--json").rows
    assert [row.get("place") for row in rows] == ["s.jsonl:2:1", "s.jsonl:3:6", None]
    assert ids() == ["a", "anna-1"]


def test_csv_columns_may_have_any_order(workspace_folder: Path) -> None:
    (workspace_folder / "s.csv").write_text(
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


def test_broken_csv_is_refused(workspace_folder: Path) -> None:
    (workspace_folder / "s.csv").write_text('id,query\na,"/a\n')
    (refused, _) = penstock("subscriptions", "import", "s.csv", "--json").rows
    assert "CSV" in refused["error"]["message"]


@pytest.mark.parametrize("name", ["all.jsonl", "all.csv"])
def test_an_export_can_be_imported(workspace_folder: Path, name: str) -> None:
    penstock("subscribe", "anna", "/p:a[@x='ä, \"']", "--namespace", "p=urn:p", "--backfill")
    penstock("subscribe", "ben", "/b", "--starts", "2100-01-01", "--returns", "fragments")
    penstock("pause", "ben-1")
    penstock("subscribe", "cleo", *KEYWORDS, "--fragments-max", "20")
    penstock("subscribe", "cleo", *KEYWORDS, "--returns", "document")
    before = penstock("subscriptions", "list", "--json").rows
    assert "4 subscriptions written" in penstock("subscriptions", "export", name).err
    penstock("init", "other")
    penstock("subscriptions", "import", name, "-w", "other")
    assert penstock("subscriptions", "list", "--json", "-w", "other").rows == before
    assert penstock("subscriptions", "export", name, "--json").rows == [
        {"subscriptions": 4, "file": name}
    ]


@pytest.mark.parametrize("value", ['"many"', "true", "1.5", '"9' + "9" * 30 + '"', "0"])
def test_an_invalid_limit_on_fragments_is_refused(workspace_folder: Path, value: str) -> None:
    row = f'{{"id": "a", "query": "/a", "fragments_max": {value}}}'
    (workspace_folder / "s.jsonl").write_text(f"{row}\n")
    (refused, _) = penstock("subscriptions", "import", "s.jsonl", "--json").rows
    code = refused["error"]["code"]
    assert code in ("subscription-file.line", "subscription.fragments-max")
    assert ids() == []


def test_export_goes_to_stdout_by_default(workspace_folder: Path) -> None:
    penstock("subscribe", "anna", "/a")
    done = penstock("subscriptions", "export")
    assert done.rows == [{"id": "anna-1", "subscriber": "anna", "query": "/a"}]
    assert done.err == "1 subscription written\n"


def test_import_flags_subscriptions_that_can_never_match(
    workspace_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace_folder / "subs.txt").write_text(
        "odd\t/a[. > '2018-01-01']\ngood\t/a\n@kind keywords\nwords\tstorm\n", "utf-8"
    )
    done = penstock("subscriptions", "import", "subs.txt")
    assert "note: subs.txt:1:5: odd never matches: no document meets predicate 1 of step 1" in (
        done.err
    )
    assert "`>` compares numbers, and '2018-01-01' is not a number" in done.err
    assert "compare with `xs:date('2018-01-01')`" in done.err
    assert "3 subscriptions added, 0 refused" in done.err
    flagged, summary = penstock("subscriptions", "import", "subs.txt", "--json").rows
    assert (flagged["id"], summary["known"]) == ("odd", 3)
    assert flagged["never_matches"]
    monkeypatch.setattr("penstock.cli.never_matching.NEVER_MATCHING_CHECKS_MAX", 1)
    limited = penstock("subscriptions", "import", "subs.txt")
    assert "only the first 1 XPath subscriptions were checked" in limited.err
    assert "1 were not" in limited.err
    assert penstock("subscriptions", "import", "subs.txt", "--json").rows[-1]["unchecked"] == 1
