"""`penstock explain`: why a document matches a subscription or does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from penstock.documents import Document, Header
from penstock.workspace import StoredSubscription, Workspace
from support.fixtures.commands import penstock
from support.fixtures.concerts import OPERA, opera_mapping
from support.spark.reference_pipeline import process

IN_ALDERFORD = "/programme/concert[venue/city = 'Alderford']"


DIGEST = opera_mapping().digest


def test_explain_accepts_files_numbers_and_identities(process_inbox: Callable[[], None]) -> None:
    penstock("subscribe", "anna", "/news/item[@n='3']")
    penstock("publish", "b.xml", "--publisher", "me", "--id", "mine")
    waiting = penstock("explain", "anna-1", "me/mine")
    assert waiting.out.startswith("anna-1 matched: /news/item[@n='3']")
    process_inbox()
    assert penstock("explain", "anna-1", "1").out == waiting.out
    assert penstock("explain", "anna-1", "b.xml").out == waiting.out
    assert penstock("explain", "anna-1", "a.xml").out.startswith("anna-1 did not match")
    assert penstock("explain", "anna-1", "c.xml", "--json").rows[0]["matched"] is False


def test_explain_locates_keywords_and_lists_missing_ones(
    process_inbox: Callable[[], None],
) -> None:
    penstock("subscribe", "anna", "--keywords", "one news")
    lines = penstock("explain", "anna-1", "a.xml").out.splitlines()
    assert lines[0] == "anna-1 matched: one news"
    assert "news in /news[1] (line 1); one in /news[1]/item[1] (line 2)" in lines[1]
    row = penstock("explain", "anna-1", "a.xml", "--json").rows[0]
    assert row["answers"][0]["path"] == "/news[1]"
    assert lines[2] == "  returns <news> <item n='1'>one</item> </news>"
    assert row["answers"][0]["fragment"]["kind"] == "path"
    lacking = penstock("explain", "anna-1", "b.xml")
    assert lacking.out.startswith("anna-1 did not match: one news")
    assert "no one" in lacking.out
    assert penstock("explain", "anna-1", "b.xml", "--json").rows[0]["lacking"] == ["one"]


def test_explain_reports_unknown_and_refused_input(
    process_inbox: Callable[[], None], tmp_path: Path
) -> None:
    penstock("subscribe", "anna", "/news")
    unknown = penstock("explain", "anna-1", "me/nothing")
    assert (unknown.code, "document.unknown" in unknown.err) == (3, True)
    nobody = penstock("explain", "anna-9", "a.xml")
    assert (nobody.code, "subscription.unknown" in nobody.err) == (3, True)
    (tmp_path / "broken.xml").write_text("<news>")
    penstock("publish", "broken.xml", "--publisher", "me")
    process_inbox()
    assert "refused" in penstock("explain", "anna-1", "1").out
    assert penstock("explain", "anna-1", "1", "--json").rows[0]["error"]["code"] == "xml.unclosed"


def test_explain_uses_the_mapping_of_the_header_or_of_a_file(mapping_file: str) -> None:
    penstock("mapping", "register", "season", mapping_file)
    with Workspace.open(Path()) as workspace:
        for wanted in (
            StoredSubscription(id="alderford", subscriber="anna", query=IN_ALDERFORD),
            StoredSubscription(
                id="quist", subscriber="anna", kind="keywords", query="quist season"
            ),
        ):
            workspace.subscriptions.add(wanted)
        content = OPERA.read_bytes()
        workspace.publish(
            [
                Document(content, Header(publisher="opera", id="named", schema="season")),
                Document(content, Header(publisher="opera", id="plain")),
            ]
        )
        process(workspace)  # documents are also found after they are processed
    named = penstock("explain", "alderford", "opera/named")
    assert named.out.startswith("alderford matched:")
    assert "as rewritten by the mapping" in named.err
    plain = penstock("explain", "alderford", "opera/plain")
    assert (plain.out.partition(":")[0], plain.err) == ("alderford did not match", "")
    (row,) = penstock("explain", "alderford", str(OPERA), "--mapping", mapping_file, "--json").rows
    assert (row["matched"], row["mapping"]) == (True, DIGEST)
    words = penstock("explain", "quist", "opera/named")
    assert words.out.startswith("quist matched:"), "keywords match the original"
    assert words.err == ""
