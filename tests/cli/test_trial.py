"""`penstock try`: what a query would have matched."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import penstock


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, text in (
        ("a.xml", "<news xmlns='urn:n'><item n='1'/><item n='2'/></news>"),
        ("b.xml", "<news xmlns='urn:n'/>"),
        ("c.xml", "<weather/>"),
        ("d.xml", "<news>"),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
    return ["a.xml", "b.xml", "c.xml", "d.xml"]


def test_fragments_and_the_rate_of_what_could_be_read(documents: list[str]) -> None:
    done = penstock("try", "--namespace", "n=urn:n", "/n:news/n:item", *documents)
    assert done.code == 0
    first, *fragments = done.out.splitlines()
    assert first == "a.xml: 2 fragments"
    assert len(fragments) == 2
    assert 'n="1"' in fragments[0] or "n='1'" in fragments[0]
    assert "error: d.xml:1:" in done.err
    assert done.err.endswith("matched 1 of 3 documents (33.3%); 1 refused\n")


def test_the_default_namespace_is_that_of_bare_names(documents: list[str]) -> None:
    done = penstock("try", "--default-namespace", "urn:n", "/news[not(item)]", *documents)
    assert [line for line in done.out.splitlines() if not line.startswith(" ")] == [
        "b.xml: 1 fragment"
    ]


def test_json(documents: list[str]) -> None:
    rows = penstock("try", "--json", "//@n", *documents).rows
    assert [row.get("matched") for row in rows] == [True, False, False, False, 1]
    assert [len(row["fragments"]) for row in rows[:4]] == [2, 0, 0, 0]
    assert rows[3]["error"]["line"] == 1
    assert rows[-1]["rate"] == pytest.approx(1 / 3)


def test_a_query_with_an_error_is_shown_with_a_caret(documents: list[str]) -> None:
    done = penstock("try", "/news/$item", *documents)
    assert done.code == 3
    assert done.out == ""
    assert "    /news/$item\n    " + " " * 6 + "^\n" in done.err


def test_a_bad_binding_is_a_wrong_command_line(documents: list[str]) -> None:
    done = penstock("try", "--namespace", "n", "/n:news", *documents)
    assert done.code == 2
    assert "PREFIX=URI" in done.err


def test_no_document_at_all_could_be_read(documents: list[str]) -> None:
    done = penstock("try", "/news", "d.xml")
    assert done.code == 0
    assert done.err.endswith("matched 0 of 0 documents (0.0%); 1 refused\n")


def test_a_query_that_can_never_match_is_flagged(documents: list[str]) -> None:
    done = penstock("try", "/a[@n < 1][@n > 2]", *documents)
    assert "this query never matches: " in done.err
    assert penstock("try", "--json", "/a[@n < 1][@n > 2]", *documents).rows[-1]["never_matches"]
