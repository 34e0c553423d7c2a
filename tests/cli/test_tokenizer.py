"""`penstock tokenizer`, and its options on other commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock import TokenizerOptions
from penstock.workspace import StoredSubscription, Workspace
from support.fixtures.commands import penstock


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new workspace in the current folder, and a document."""
    monkeypatch.chdir(tmp_path)
    Workspace.create(tmp_path).close()
    (tmp_path / "city.xml").write_text("<eventCode>Zürich</eventCode>", encoding="utf-8")
    return tmp_path


def test_a_new_workspace_unifies_all_spellings() -> None:
    assert penstock("tokenizer", "show").out.splitlines() == [
        "fold diacritics: on",
        "split names: on",
        "unify apostrophes: on",
        "unify abbreviations: on",
    ]


def test_setting_one_option_keeps_the_others(folder: Path) -> None:
    penstock("tokenizer", "set", "--no-fold-diacritics", "--no-split-names")
    done = penstock("tokenizer", "set", "--split-names", "--no-unify-apostrophes", "--json")
    expected = TokenizerOptions(fold_diacritics=False, unify_apostrophes=False)
    assert done.rows == [{"type": "tokenizer", **expected.by_name()}]
    assert penstock("tokenizer", "show", "--json").rows == done.rows
    with Workspace.open(folder) as workspace:
        assert workspace.tokenizer.read() == expected


def test_without_an_option_nothing_is_set() -> None:
    assert penstock("tokenizer", "set").code == 2


def test_options_that_a_stored_query_does_not_fit_are_refused(folder: Path) -> None:
    query = "".join(f"a{number} á{number} " for number in range(501))
    with Workspace.open(folder) as workspace:
        workspace.subscriptions.add(
            StoredSubscription(id="many", subscriber="anna", kind="keywords", query=query)
        )
    done = penstock("tokenizer", "set", "--no-fold-diacritics")
    assert (done.code, "keywords.too-many" in done.err, "`many`" in done.err) == (3, True, True)
    assert penstock("tokenizer", "show", "--json").rows[0]["fold_diacritics"]


def test_an_explanation_uses_the_options_of_the_workspace(folder: Path) -> None:
    with Workspace.open(folder) as workspace:
        workspace.subscriptions.add(
            StoredSubscription(id="city", subscriber="anna", kind="keywords", query="zurich")
        )
    assert penstock("explain", "city", "city.xml", "--json").rows[0]["matched"]
    penstock("tokenizer", "set", "--no-fold-diacritics")
    assert not penstock("explain", "city", "city.xml", "--json").rows[0]["matched"]


@pytest.mark.parametrize(
    ("query", "option"), [("zurich", "--no-fold-diacritics"), ("code", "--no-split-names")]
)
def test_trying_and_matching_with_an_option(folder: Path, query: str, option: str) -> None:
    (folder / "subscriptions.txt").write_text(f"@kind keywords\nit\t{query}\n")
    for options, expected in (((), 1), ((option,), 0)):
        tried = penstock("try", "--keywords", query, "--json", *options, "city.xml")
        assert tried.rows[-1]["matched"] == expected
        matched = penstock("match", "subscriptions.txt", "city.xml", "--json", *options)
        assert matched.rows[-1]["matches"] == expected


def test_the_options_do_not_apply_to_xpath() -> None:
    done = penstock("try", "/eventCode", "--no-fold-diacritics", "city.xml")
    assert (done.code, "applies to keywords" in done.err) == (2, True)
