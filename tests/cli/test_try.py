"""`penstock try`: what a query would match."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import DocumentError
from penstock.matching import KeywordMatcher, Matcher, Matches
from penstock.matching.results import ResolvedIds
from support.fixtures.commands import penstock


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


def test_fragments_and_the_match_rate(documents: list[str]) -> None:
    done = penstock("try", "--namespace", "n=urn:n", "/n:news/n:item", *documents)
    assert done.code == 0
    first, *fragments = done.out.splitlines()
    assert first == "a.xml: 2 fragments"
    assert len(fragments) == 2
    assert 'n="1"' in fragments[0] or "n='1'" in fragments[0]
    assert "error: d.xml:1:" in done.err
    assert done.err.endswith("matched 1 of 3 documents (33.3%); 1 refused\n")


def test_the_default_namespace_applies_to_names_without_prefix(documents: list[str]) -> None:
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


def test_a_malformed_binding_is_a_usage_error(documents: list[str]) -> None:
    done = penstock("try", "--namespace", "n", "/n:news", *documents)
    assert done.code == 2
    assert "PREFIX=URI" in done.err


def test_the_rate_is_zero_if_no_document_can_be_read(documents: list[str]) -> None:
    done = penstock("try", "/news", "d.xml")
    assert done.code == 0
    assert done.err.endswith("matched 0 of 0 documents (0.0%); 1 refused\n")


def test_a_query_that_can_never_match_is_flagged(documents: list[str]) -> None:
    done = penstock("try", "/a[@n < 1][@n > 2]", *documents)
    assert "this query never matches: " in done.err
    assert penstock("try", "--json", "/a[@n < 1][@n > 2]", *documents).rows[-1]["never_matches"]


# Keywords.

LINES = """<log>
  <day><line><who>Anna</who><what>storm</what></line><line>gale storm</line></day>
  <day>storm Anna<line>gale</line></day>
</log>"""


@pytest.fixture
def lines(documents: list[str], tmp_path: Path) -> str:
    (tmp_path / "log.xml").write_text(LINES, encoding="utf-8")
    return "log.xml"


def test_answers_to_keywords_and_the_match_rate(documents: list[str], lines: str) -> None:
    done = penstock("try", "--keywords", "storm anna", lines, *documents)
    assert done.code == 0
    assert done.out.splitlines() == [
        "log.xml: 2 answers",
        "    /log[1]/day[1]/line[1] (line 2): anna in /log[1]/day[1]/line[1]/who[1] (line 2);"
        " storm in /log[1]/day[1]/line[1]/what[1] (line 2)",
        "        <line><who>Anna</who><what>storm</what></line>",
        "    /log[1]/day[2] (line 3): anna in /log[1]/day[2] (line 3);"
        " storm in /log[1]/day[2] (line 3)",
        "        <day>storm Anna</day>",
    ]
    assert "error: d.xml:1:" in done.err
    assert done.err.endswith("matched 1 of 4 documents (25.0%); 1 refused\n")


def test_limit_and_form_of_answers(documents: list[str], lines: str) -> None:
    best = penstock("try", "--keywords", "storm OR anna", "--limit", "1", lines)
    assert best.out.startswith("log.xml: 1 answer\n    /log[1]/day[1]/line[1] ")
    whole = penstock("try", "--keywords", "storm anna", "--form", "subtree", lines).out
    assert "        <day>storm Anna<line>gale</line></day>" in whole.splitlines()
    bare = penstock("try", "--keywords", "storm anna", "--form", "ids", lines).out
    assert [line.partition(" (")[0].strip() for line in bare.splitlines()] == [
        "log.xml: 2 answers",
        "/log[1]/day[1]/line[1]",
        "/log[1]/day[2]",
    ]


def test_answers_as_json(documents: list[str], lines: str) -> None:
    rows = penstock("try", "--json", "--keywords", "storm anna", lines, "c.xml").rows
    assert [row.get("matched") for row in rows] == [True, False, 1]
    first, second = rows[0]["answers"]
    assert rows[1]["answers"] == []
    assert (first["path"], first["element"], first["depth"], first["size"]) == (
        *("/log[1]/day[1]/line[1]", 2, 3),
        3,
    )
    assert [(each["keyword"], each["count"]) for each in first["keywords"]] == [
        ("anna", 1),
        ("storm", 1),
    ]
    assert first["fragment"]["kind"] == "path"
    assert second["fragment"]["xml"] == "<day>storm Anna</day>"
    assert not second["truncated"]
    bare = penstock("try", "--json", "--keywords", "storm", "--form", "ids", lines).rows[0]
    assert "fragment" not in bare["answers"][0]


def test_a_document_too_large_for_answers_is_refused_and_the_others_tried(
    documents: list[str], lines: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object, **_options: object) -> None:
        raise DocumentError("keywords.or-too-large", "this is too much")

    monkeypatch.setattr(KeywordMatcher, "answers", refuse)
    done = penstock("try", "--keywords", "storm OR gale", lines, "c.xml")
    assert (done.code, done.out) == (0, "")
    assert "keywords.or-too-large" in done.err
    assert done.err.endswith("matched 0 of 1 document (0.0%); 1 refused\n")


def test_keywords_that_are_refused_are_shown_with_a_caret(documents: list[str]) -> None:
    done = penstock("try", "--keywords", "a OR b c", *documents)
    assert (done.code, done.out) == (3, "")
    assert "    a OR b c\n    " + " " * 7 + "^\n" in done.err


def test_options_of_the_other_kind_are_usage_errors(documents: list[str]) -> None:
    for wrong in (
        ("--keywords", "a", "--namespace", "p=urn:p", "a.xml"),
        ("--keywords", "a", "--default-namespace", "urn:d", "a.xml"),
        ("/a", "--limit", "1", "a.xml"),
        ("/a", "--form", "ids", "a.xml"),
        ("--keywords", "a", "nothing.xml"),
        ("/a",),
    ):
        assert penstock("try", *wrong).code == 2


def test_a_name_in_another_namespace_is_pointed_out(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<n xmlns='urn:n'><headline xmlns='urn:h'/></n>")
    done = penstock("try", "//headline", str(document))
    assert "there is no //headline; the document has this name in the namespace urn:h" in done.err
    (_, summary) = penstock("try", "//headline", str(document), "--json").rows
    assert "urn:h" in summary["advice"][0]
    found = penstock("try", "//headline", "--default-namespace", "urn:h", str(document))
    assert "this name" not in found.err
    assert "this name" not in penstock("try", "//headlines", str(document)).err


def test_a_query_that_takes_too_much_work_is_neither_matched_nor_unmatched(
    documents: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def match(self: Matcher, *_: object, **__: object) -> Matches:
        found = self.match_chunks([b"<weather/>"])
        return Matches(ResolvedIds(), counters=found.counters, set_aside=["query"])

    monkeypatch.setattr(Matcher, "match_file", match)
    done = penstock("try", "//item", "c.xml")
    assert "limit.work" in done.err
    assert done.err.endswith("matched 0 of 0 documents (0.0%); 1 refused\n")
