"""`penstock dead-letters`: list, show and replay."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.cli.commands.dead_letters import LINE_CHARACTERS_MAX, source_line
from penstock.errors import Where
from penstock.matching import Matcher
from penstock.workspace import Workspace
from support.fixtures.commands import penstock
from support.fixtures.terminal import penstock_in_terminal
from support.spark.reference_pipeline import process


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """A workspace with two refused documents; the value is a function that processes the inbox."""
    monkeypatch.chdir(tmp_path)
    penstock("init")
    (tmp_path / "good.xml").write_text("<news/>")
    (tmp_path / "cut.xml").write_text("<news>\n  <item>")
    (tmp_path / "twice.xml").write_text("<news a='1' a='2'/>")

    def processed() -> None:
        with Workspace.open(tmp_path) as workspace:
            process(workspace)

    penstock("subscribe", "anna", "/news")
    penstock("publish", "cut.xml", "good.xml", "twice.xml", "--publisher", "me", "--schema", "n")
    processed()
    return processed


def states(*more: str) -> dict[int, str]:
    rows = penstock("dead-letters", "list", "--json", *more).rows
    return {row["sequence"]: row["state"] for row in rows}


def test_list_prints_one_row_per_dead_letter(run: Callable[[], None]) -> None:
    done = penstock("dead-letters", "list")
    lines = done.out.splitlines()
    columns = ["number", "refused", "publisher", "file", "place", "element", "code", "state"]
    assert lines[0].split() == columns
    assert [line.split()[3:] for line in lines[1:]] == [
        ["me", "cut.xml", "2:9", "/news/item", "xml.unclosed", "open"],
        ["me", "twice.xml", "1:13", "xml.attribute-twice", "open"],
    ]
    assert done.err == "2 dead letters\n"
    assert states("--code", "xml.unclosed") == {1: "open"}


def test_a_narrow_terminal_cuts_no_column(run: Callable[[], None], tmp_path: Path) -> None:
    _, written = penstock_in_terminal("dead-letters", "list", "-w", str(tmp_path), columns=40)
    row = next(line for line in written.splitlines() if "cut.xml" in line).split()
    assert [row[0], *row[3:]] == ["1", "me", "cut.xml", "2:9", "/news/item", "xml.unclosed", "open"]


def test_an_empty_list_is_not_an_error(tmp_path: Path) -> None:
    penstock("init", str(tmp_path))
    done = penstock("dead-letters", "list", "-w", str(tmp_path))
    assert (done.code, done.out, done.err) == (0, "", "0 dead letters\n")


def test_show_prints_reason_source_line_and_history(run: Callable[[], None]) -> None:
    lines = penstock("dead-letters", "show", "3").out.splitlines()
    assert lines[0].endswith("at line 1, column 13 [xml.attribute-twice]")
    assert lines[1:3] == ["    <news a='1' a='2'/>", "                ^"]
    assert lines[3].startswith("hint: ")
    assert lines[4].startswith("document:  me/sha256:")
    assert lines[5:7] == ["file:      twice.xml", "size:      19 bytes"]
    assert lines[7].startswith("history:   ")
    assert lines[7].endswith("refused: xml.attribute-twice (number 3)")
    assert "element:   /news/item" in penstock("dead-letters", "show", "1").out.splitlines()
    row = penstock("dead-letters", "show", "3", "--json").rows[0]
    assert row["schema"] == "n"
    assert (row["line"], row["column"]) == (1, 13)
    assert (row["file"], row["path"], row["report"]) == ("twice.xml", None, None)
    assert [step["what"] for step in row["history"]] == ["refused: xml.attribute-twice"]
    unknown = penstock("dead-letters", "show", "2")
    assert (unknown.code, "dead-letter.unknown" in unknown.err) == (3, True)


def test_show_prints_the_report_of_an_internal_error(
    run: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    none = penstock("dead-letters", "show", "3", "--report")
    assert (none.code, "dead-letter.report" in none.err) == (3, True)
    (tmp_path / "hidden.xml").write_text("<secret/>")
    penstock("publish", "hidden.xml")

    def fail(*_arguments: object, **_options: object) -> None:
        raise RecursionError("too deep")

    with monkeypatch.context() as failing:
        failing.setattr(Matcher, "match", fail)
        run()
    row = penstock("dead-letters", "show", "4", "--json").rows[0]
    assert (row["code"], row["file"], row["path"]) == ("internal.error", "hidden.xml", None)
    (report,) = penstock("dead-letters", "show", "4", "--report").rows
    assert report == {"code": "internal.error", **row["report"]}
    assert report["type"] == "RecursionError"
    assert "secret" not in str(report)
    (report,) = penstock("dead-letters", "show", "4", "--report", "--with-content").rows
    assert b64decode(report["document"]["content_base64"]) == b"<secret/>"


def test_replay_with_a_corrected_document(run: Callable[[], None], tmp_path: Path) -> None:
    (tmp_path / "fixed.xml").write_text("<news>\n  <item/></news>")
    done = penstock("dead-letters", "replay", "1", "--with", "fixed.xml")
    assert done.out == "1 published again as 4\n"
    assert states() == {1: "waiting", 3: "open"}
    run()
    assert states() == {3: "open"}
    assert states("--all") == {1: "accepted", 3: "open"}
    assert "--all lists 1 more that are settled" in penstock("dead-letters", "list").err
    history = penstock("dead-letters", "show", "1", "--json").rows[0]["history"]
    assert [(step["what"], step["sequence"]) for step in history] == [
        ("refused: xml.unclosed", 1),
        ("replayed with another document", 4),
        ("accepted", 4),
    ]
    good, fixed = penstock("mailbox", "anna", "--json").rows
    assert fixed["content"] == "<news>\n  <item/></news>"
    with Workspace.open(tmp_path) as workspace:
        assert fixed["document"] == workspace.dead_letters.get("1").document
    assert good["sequence"] == 2


def test_a_document_refused_again_is_a_new_dead_letter(run: Callable[[], None]) -> None:
    done = penstock("dead-letters", "replay", "--all", "--json")
    assert [row["replay"] for row in done.rows[:-1]] == [4, 5]
    run()
    assert states("--all") == {1: "refused again", 3: "refused again", 4: "open", 5: "open"}
    again = penstock("dead-letters", "replay", "1", "4")
    assert again.err == "1 dead letter replayed, 1 skipped (replayed before)\n"
    run()
    for name in ("1", "4", "6"):
        history = penstock("dead-letters", "show", name, "--json").rows[0]["history"]
        assert [(step["what"], step["sequence"]) for step in history] == [
            ("refused: xml.unclosed", 1),
            ("replayed", 4),
            ("refused: xml.unclosed", 4),
            ("replayed", 6),
            ("refused: xml.unclosed", 6),
        ]
    assert states() == {5: "open", 6: "open"}


def test_replay_by_code_selects_open_dead_letters(run: Callable[[], None]) -> None:
    for expected in (1, 0):
        done = penstock("dead-letters", "replay", "--code", "xml.attribute-twice", "--json")
        assert done.rows[-1] == {"type": "summary", "replayed": expected, "skipped": 0}


def test_an_identity_refers_to_its_latest_dead_letter(
    run: Callable[[], None], tmp_path: Path
) -> None:
    with Workspace.open(tmp_path) as workspace:
        identity = workspace.dead_letters.get("1").document
    penstock("dead-letters", "replay", identity)
    run()
    assert penstock("dead-letters", "show", identity, "--json").rows[0]["sequence"] == 4
    # Publishing the same bytes again changes nothing: they are the same document.
    assert penstock("publish", "cut.xml", "--publisher", "me", "--json").rows[0] == {
        "type": "document",
        "file": "cut.xml",
        "document": identity,
        "sequence": 4,
        "new": False,
    }


@pytest.mark.parametrize(
    "arguments", [[], ["1", "--all"], ["--all", "--code", "x"], ["--all", "--with", "good.xml"]]
)
def test_replay_accepts_a_single_way_of_selecting(
    run: Callable[[], None], arguments: list[str]
) -> None:
    assert penstock("dead-letters", "replay", *arguments).code == 2
    assert states() == {1: "open", 3: "open"}


def test_a_long_line_is_cut_around_the_position() -> None:
    line = "<a>" + "x" * 500 + "<b></a>"
    for column in (1, 250, 505, len(line)):
        shown, caret = source_line(line.encode(), Where(0, 1, column))
        assert len(shown) == LINE_CHARACTERS_MAX
        assert shown[caret.index("^")] == line[column - 1]
    assert source_line(b"<a>", None) == []
    assert source_line(b"<a>", Where(9, 7, 1)) == []


@pytest.mark.parametrize(
    "content",
    [
        "<a>ä<".encode("utf-16"),
        "<?xml version='1.0' encoding='latin-1'?><a>ä<".encode("latin-1"),
        "\ufeff<a>ä<".encode(),
        b"<?xml version='1.0' encoding='made-up'?><a>\xc3\xa4<",
    ],
)
def test_the_source_line_is_decoded(content: bytes) -> None:
    assert source_line(content, Where(0, 1, 1))[0].endswith("<a>ä<")
