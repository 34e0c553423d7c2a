"""`penstock match`: rows, fragments, explanations, refused input, exit codes."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

from penstock.cli.exit_codes import ExitCode
from penstock.matching import Matcher, Matches
from penstock.matching.results import ResolvedIds
from penstock.mediation import Mapping
from support.contracts.native_engines import native_engines
from support.fixtures.commands import penstock, penstock_process

GOOD = "<news><item lang='en'><price>7</price></item><item lang='fr'/></news>"
OTHER = "<weather/>"
BROKEN = "<news>\n  <item>\n</news>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "subs.txt").write_text(
        "cheap\t/news/item[price < 10]\nfrench\t//item[@lang='fr']\nnone\t/sport\n",
        encoding="utf-8",
    )
    for name, text in (("good", GOOD), ("other", OTHER), ("broken", BROKEN)):
        (tmp_path / f"{name}.xml").write_text(text, encoding="utf-8")
    return tmp_path


def test_one_row_per_document_and_a_summary_on_stderr(folder: Path) -> None:
    done = penstock("match", "subs.txt", "good.xml", "other.xml")
    assert done.code == 0
    assert [line.split() for line in done.out.splitlines()] == [
        ["good.xml", "2", "cheap,", "french"],
        ["other.xml", "0"],
    ]
    assert done.err == (
        "2 documents: 1 matched, 1 unmatched, 0 refused; 2 matches of 3 subscriptions\n"
    )


def test_a_file_may_contain_keywords_and_xpath(folder: Path) -> None:
    with (folder / "subs.txt").open("a", encoding="utf-8") as file:
        file.write("@kind keywords\nwords\tprice EN\nany\tfr OR weather\nbad\t --\n")
    done = penstock("match", "subs.txt", "good.xml", "other.xml", "broken.xml")
    assert [line.split() for line in done.out.splitlines()] == [
        ["good.xml", "4", "cheap,", "french,", "words,", "any"],
        ["other.xml", "1", "any"],
        ["broken.xml", "refused", "xml.end-tag"],
    ]
    assert "subs.txt:7:6" in done.err
    assert done.err.endswith("1 refused; 5 matches of 5 subscriptions (1 refused)\n")
    rows = penstock("match", "--json", "--fragments", "subs.txt", "good.xml").rows
    (part,) = rows[1]["fragments"]["words"]
    assert part["kind"] == "path"
    assert part["xml"] == "<item lang='en'><price>7</price></item>"
    plain = penstock("match", "--engine", "reference", "subs.txt", "good.xml", "other.xml")
    assert plain.out.split() == done.out.partition("broken.xml")[0].split()


def test_a_refused_document_does_not_stop_the_others(folder: Path) -> None:
    done = penstock("match", "subs.txt", "broken.xml", "good.xml")
    assert done.code == 0
    assert "broken.xml" in done.out
    assert "refused" in done.out
    assert "good.xml" in done.out
    assert "error: broken.xml:3:" in done.err
    assert "hint: " in done.err
    assert "1 matched, 0 unmatched, 1 refused" in done.err


class PanicException(BaseException):
    """Stands for a panic of the native core."""


@pytest.mark.parametrize("command", [["match", "subs.txt"], ["try", "//item"]])
def test_a_failure_refuses_its_document_and_no_other(
    folder: Path, command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    match_file = Matcher.match_file

    def failing(
        matcher: Matcher, path: Path, *, fragments: bool = False, header: object = None
    ) -> Matches:
        if path.name == "other.xml":
            raise PanicException("index out of bounds")
        assert not header
        return match_file(matcher, path, fragments=fragments)

    monkeypatch.setattr(Matcher, "match_file", failing)
    done = penstock(*command, "good.xml", "other.xml", "good.xml", "--json")
    first, failed, last, summary = done.rows
    assert (first["document"], last["document"]) == ("good.xml", "good.xml")
    assert "error" not in first
    assert failed["error"]["code"] == "internal.error"
    assert failed["error"]["report"]["type"] == "PanicException"
    content = Path("other.xml").read_bytes()
    reported = {"sha256": sha256(content).hexdigest(), "bytes": len(content)}
    assert failed["error"]["report"]["document"] == reported
    assert (summary["documents"], summary["matched"], summary["refused"]) == (3, 2, 1)
    done = penstock(*command, "good.xml", "other.xml")
    assert "raised PanicException: index out of bounds" in done.err


def test_strict_makes_a_refusal_a_failure(folder: Path) -> None:
    assert penstock("match", "--strict", "subs.txt", "good.xml").code == 0
    assert penstock("match", "--strict", "subs.txt", "good.xml", "broken.xml").code == 3


def test_a_refused_subscription_is_shown_with_a_caret(folder: Path) -> None:
    (folder / "subs.txt").write_text("good\t//item\nbad\t//item[$x]\n", encoding="utf-8")
    done = penstock("match", "subs.txt", "good.xml")
    assert done.code == 0
    first, source, caret, _hint, summary = done.err.splitlines()
    assert first.startswith("error: subs.txt:2:12: ")
    assert source == "    //item[$x]"
    assert caret == "    " + " " * 7 + "^"
    assert "1 subscription (1 refused)" in summary
    assert penstock("match", "--strict", "subs.txt", "good.xml").code == 3


def test_a_subscription_that_can_never_match_is_flagged(folder: Path) -> None:
    (folder / "subs.txt").write_text("odd\t/a[@n < 1][@n > 2]\n", encoding="utf-8")
    done = penstock("match", "subs.txt", "good.xml")
    assert done.code == 0
    assert "subs.txt:1:5: odd never matches: " in done.err
    flagged = penstock("match", "--json", "subs.txt", "good.xml").rows[0]
    assert (flagged["type"], flagged["id"]) == ("subscription", "odd")
    assert flagged["never_matches"]


def test_a_skipped_check_is_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.cli.never_matching.NEVER_MATCHING_CHECKS_MAX", 2)
    done = penstock("match", "subs.txt", "good.xml")
    assert "only the first 2 XPath subscriptions were checked" in done.err
    summary = penstock("match", "--json", "subs.txt", "good.xml").rows[-1]
    assert summary["subscriptions_unchecked"] == 1


def test_an_unbound_prefix_in_a_file_names_the_directive(folder: Path) -> None:
    (folder / "subs.txt").write_text("bad\t//p:item\n", encoding="utf-8")
    assert "`@namespace p=URI`" in penstock("match", "subs.txt", "good.xml").err


def test_a_malformed_subscription_file_is_refused(folder: Path) -> None:
    (folder / "subs.txt").write_text("no tab here\n", encoding="utf-8")
    done = penstock("match", "subs.txt", "good.xml")
    assert done.code == 3
    assert done.out == ""
    assert "error: subs.txt:1:12: " in done.err
    as_json = penstock("match", "--json", "subs.txt", "good.xml")
    assert json.loads(as_json.err)["error"]["place"] == "subs.txt:1:12"


def test_fragments_are_shown_under_their_document(folder: Path) -> None:
    done = penstock("match", "--fragments", "subs.txt", "good.xml")
    assert "french: <item lang='fr'/>" in done.out


def test_omitted_fragments_are_noted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def match_file(
        matcher: Matcher, path: Path, *, fragments: bool, header: dict[str, str]
    ) -> Matches:
        assert header == {}
        matches = Matcher.match(matcher, path.read_bytes(), fragments=fragments)
        some = {id_: parts for id_, parts in matches.fragments.items() if id_ != "cheap"}
        counters = matches.counters
        return Matches(
            ResolvedIds(matches.ids), counters=counters, fragments=some, without_fragments=["cheap"]
        )

    monkeypatch.setattr(Matcher, "match_file", match_file)
    shown = penstock("match", "--fragments", "subs.txt", "good.xml").out
    assert "cheap: (locating the fragments exceeds a limit" in shown
    assert "french: <item lang='fr'/>" in shown
    row = penstock("match", "--json", "--fragments", "subs.txt", "good.xml").rows[0]
    assert (row["without_fragments"], list(row["fragments"])) == (["cheap"], ["french"])


def test_json_lines(folder: Path) -> None:
    done = penstock("match", "--json", "--fragments", "subs.txt", "good.xml", "broken.xml")
    assert done.err == ""
    good, broken, summary = done.rows
    assert (good["outcome"], good["ids"]) == ("matched", ["cheap", "french"])
    (fragment,) = good["fragments"]["french"]
    ((start, end),) = fragment["ranges"]
    assert GOOD[start:end] == "<item lang='fr'/>"
    assert (broken["outcome"], broken["ids"]) == ("refused", [])
    assert broken["error"]["line"] == 3
    assert {"code", "message", "offset", "column", "hint"} <= broken["error"].keys()
    assert (summary["documents"], summary["matched"], summary["refused"]) == (2, 1, 1)
    assert summary["subscriptions"] == 3


def test_explain_for_a_match_and_a_mismatch(folder: Path) -> None:
    done = penstock("match", "--explain", "cheap", "subs.txt", "good.xml", "other.xml")
    assert "cheap matched: /news/item[price < 10]" in done.out
    assert "cheap did not match: /news/item[price < 10]" in done.out
    rows = penstock("match", "--json", "--explain", "cheap", "subs.txt", "good.xml").rows
    assert rows[0]["explanation"]["matched"] is True
    assert rows[0]["explanation"]["witnesses"][0]["line"] == 1


def test_an_unknown_subscription_cannot_be_explained(folder: Path) -> None:
    done = penstock("match", "--explain", "nobody", "subs.txt", "good.xml")
    assert done.code == 3
    assert "[subscription.unknown]" in done.err


def test_the_reference_engine_agrees(folder: Path) -> None:
    documents = ["good.xml", "other.xml", "broken.xml"]
    reference = penstock("match", "--json", "--engine", "reference", "subs.txt", *documents)
    default = penstock("match", "--json", "subs.txt", *documents)
    assert [row.get("ids") for row in reference.rows] == [row.get("ids") for row in default.rows]


@pytest.mark.parametrize("missing", ["subs.txt", "good.xml"])
def test_a_missing_file_is_a_usage_error(folder: Path, missing: str) -> None:
    (folder / missing).unlink()
    done = penstock("match", "subs.txt", "good.xml")
    assert done.code == 2
    assert missing in done.err


def test_long_rows_are_not_cut_in_a_pipe(folder: Path) -> None:
    ids = [f"subscription-number-{number}" for number in range(60)]
    (folder / "subs.txt").write_text("".join(f"{id_}\t//item\n" for id_ in ids), encoding="utf-8")
    done = penstock_process(
        "match", str(folder / "subs.txt"), str(folder / "good.xml"), COLUMNS="80"
    )
    (row,) = done.out.splitlines()
    assert row.rstrip().endswith(", ".join(ids))


@pytest.fixture
def german(folder: Path) -> Path:
    """A folder with a document of another schema and its mapping."""
    (folder / "german.xml").write_text(
        "<nachrichten>\n<meldung sprache='fr' preis='7'/><neu/></nachrichten>", encoding="utf-8"
    )
    (folder / "german.mapping").write_text(
        "penstock mapping 1\n"
        "nachrichten\n"
        "  => rename news\n"
        "  meldung*\n"
        "    @preis?\n"
        "    => to-element @preis as price\n"
        "    @sprache?\n"
        "    => rename @sprache lang\n"
        "    => rename item\n",
        encoding="utf-8",
    )
    return folder


@pytest.mark.parametrize("engine", [*native_engines, "reference"])
def test_matching_through_a_mapping(german: Path, engine: str) -> None:
    with (german / "subs.txt").open("a", encoding="utf-8") as file:
        file.write("@kind keywords\nwords\tmeldung\n")
    assert penstock("match", "subs.txt", "german.xml").out.split() == ["german.xml", "1", "words"]
    options = ("--mapping", "german.mapping", "--engine", engine)
    done = penstock("match", *options, "--fragments", "subs.txt", "german.xml")
    assert done.out.splitlines()[0].split() == ["german.xml", "3", "cheap,", "french,", "words"]
    original = "<meldung sprache='fr' preis='7'/>"
    assert done.out.splitlines()[1:3] == [f"    cheap: {original}", f"    french: {original}"]
    assert done.err.splitlines()[0] == (
        "german.xml: 1 element not in the local schema passed through unchanged"
    )
    explained = penstock("match", *options, "--explain", "cheap", "subs.txt", "german.xml")
    assert "/item[price < 10] is /news[1]/item[1] (line 2)" in explained.out
    assert "the document as rewritten by the mapping" in explained.err
    words = penstock("match", *options, "--explain", "words", "subs.txt", "german.xml")
    assert "/nachrichten[1]/meldung[1]" in words.out
    assert "rewritten by the mapping" not in words.err


def test_matching_through_a_mapping_as_json(german: Path) -> None:
    options = ("--mapping", "german.mapping", "--json", "--fragments", "--explain", "cheap")
    row, summary = penstock("match", *options, "subs.txt", "german.xml").rows
    assert (row["ids"], row["unknown_elements"]) == (["cheap", "french"], 1)
    assert row["fragments"]["cheap"][0]["ranges"] == [[14, 47]]
    assert [step["path"] for step in row["explanation"]["steps"]] == [
        "/news[1]",
        "/news[1]/item[1]",
    ]
    mapping = Mapping.from_text((german / "german.mapping").read_text(encoding="utf-8"))
    assert (summary["mapping"], summary["work"]["unknown"]) == (mapping.digest, 1)


def test_a_malformed_mapping_is_refused_with_its_position(german: Path) -> None:
    (german / "german.mapping").write_text("penstock mapping 1\na\n  => sing\n")
    done = penstock("match", "--mapping", "german.mapping", "subs.txt", "german.xml")
    assert (done.code, done.out) == (3, "")
    assert "error: german.mapping:3:6: " in done.err


def test_subscriptions_that_are_set_aside_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def match(self: Matcher, *_: object, **__: object) -> Matches:
        found = self.match_chunks([GOOD.encode()])
        ids = ResolvedIds(name for name in found.ids if name != "french")
        return Matches(ids, counters=found.counters, set_aside=["french"])

    monkeypatch.setattr(Matcher, "match_file", match)
    done = penstock("match", "subs.txt", "good.xml")
    assert done.code == 0
    assert done.out.split() == ["good.xml", "1", "cheap"]
    assert "error: good.xml: the work budget is spent; set aside: french" in done.err
    assert "limit.work" in done.err
    assert penstock("match", "--strict", "subs.txt", "good.xml").code == ExitCode.INPUT_REFUSED
    row = json.loads(penstock("match", "--json", "subs.txt", "good.xml").out.splitlines()[0])
    assert (row["outcome"], row["ids"], row["set_aside"]) == ("matched", ["cheap"], ["french"])
    assert row["work_error"]["code"] == "limit.work"
