"""Error output: place, code, caret and hint; no colour and no wrapping in a pipe."""

from __future__ import annotations

import json

import pytest

from penstock.cli.console import plural, show_error
from penstock.errors import Where, error


def test_error_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    failure = error("query.variable", "there are no variables", Where(6, 1, 7))
    show_error(failure, place="subs.txt:3:11", source="/news/$item")
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "error: subs.txt:3:11: there are no variables [query.variable]",
        "    /news/$item",
        "          ^",
        f"hint: {failure.hint}",
    ]


def test_error_without_a_place_includes_its_position(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(error("query.variable", "there are no variables", Where(6, 1, 7)))
    first = capsys.readouterr().err.splitlines()[0]
    assert first == "error: there are no variables at line 1, column 7 [query.variable]"


def test_error_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    failure = error("query.variable", "there are no “variables”", Where(6, 1, 7))
    show_error(failure, place="query", as_json=True)
    assert json.loads(capsys.readouterr().err)["error"] == {
        "code": "query.variable",
        "message": "there are no “variables”",
        "offset": 6,
        "line": 1,
        "column": 7,
        "hint": failure.hint,
        "place": "query",
    }


def test_long_messages_are_not_wrapped_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(error("query.variable", "word " * 300))
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_markup_in_a_message_is_not_interpreted(capsys: pytest.CaptureFixture[str]) -> None:
    show_error(error("query.variable", "in [bold]/a[b][/bold] :smile:"))
    assert "in [bold]/a[b][/bold] :smile:" in capsys.readouterr().err


def test_plurals() -> None:
    assert plural(1, "document") == "1 document"
    assert plural(1000, "document") == "1,000 documents"
    assert plural(0, "match", "matches") == "0 matches"
