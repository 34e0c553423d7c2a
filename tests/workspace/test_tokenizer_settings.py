"""The tokenizer options of a workspace: stored, and part of each index version."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest

from penstock import IndexFileError, QueryError, TokenizerOptions
from penstock.language.keywords.tokenizer_options import TOKENIZER_BEFORE_OPTIONS
from penstock.language.limits import KEYWORDS_MAX
from penstock.workspace import StoredSubscription, Workspace, database, open_version
from penstock.workspace.index_version_files import StoredVersion, parse_uri
from penstock.workspace.index_versions import (
    change_version,
    readable_tokenizer,
    split_version,
    write_version,
)
from penstock.workspace.limits import CHANGED_ROWS_MIN
from penstock.workspace.migrations import MIGRATIONS
from penstock.workspace.stored_subscription import subscriptions_to_table

DOCUMENT = "<eventCode>Zürich</eventCode>".encode()
EXACT = TokenizerOptions(fold_diacritics=False, split_names=False)
FORMAT_BEFORE = 10
"""The format of workspaces without tokenizer options."""


def keywords(name: str, query: str) -> StoredSubscription:
    return StoredSubscription(id=name, subscriber="anna", kind="keywords", query=query)


def table_of(*subscriptions: StoredSubscription) -> pa.Table:
    return subscriptions_to_table(list(subscriptions))


def matches(uri: str) -> set[str]:
    version = open_version(uri)
    names = version.subscriptions.column("subscription").to_pylist()
    return {str(names[int(row)]) for row in version.matcher.match(DOCUMENT)}


def test_a_new_workspace_has_the_defaults(tmp_path: Path) -> None:
    with Workspace.create(tmp_path) as workspace:
        assert workspace.tokenizer.read() == TokenizerOptions()


def test_changed_options_make_a_new_version(tmp_path: Path) -> None:
    with Workspace.create(tmp_path) as workspace:
        workspace.subscriptions.add(keywords("city", "zurich"))
        workspace.subscriptions.add(keywords("name", "code"))
        first = workspace.current_version()
        assert matches(first) == {"city", "name"}
        workspace.tokenizer.write(EXACT)
    with Workspace.open(tmp_path) as workspace:
        assert workspace.tokenizer.read() == EXACT
        second = workspace.current_version()
        assert (second != first, matches(second)) == (True, set())
        assert matches(first) == {"city", "name"}, "the old one keeps its options"
        workspace.subscriptions.add(keywords("umlaut", "ZÜRICH"))
        assert matches(workspace.current_version()) == {"umlaut"}
        workspace.tokenizer.write(TokenizerOptions())
        assert matches(workspace.current_version()) == {"city", "name", "umlaut"}
        workspace.subscriptions.remove(["umlaut"])
        assert workspace.current_version() == workspace.current_version()


def test_the_first_keywords_after_a_base_version_have_its_options(tmp_path: Path) -> None:
    """The base version has no index of keywords that the options could be read from."""
    path = StoredSubscription(id="path", subscriber="anna", query="//eventCode")
    base = write_version(str(tmp_path), table_of(path), tokenizer=EXACT)
    added = change_version(
        base, removed=[], added=table_of(keywords("a", "zurich"), keywords("b", "zürich"))
    )
    assert not StoredVersion.read(added).is_base
    assert matches(added) == {"path", "b"}


def test_all_kinds_of_versions_keep_the_options(tmp_path: Path) -> None:
    rows = table_of(keywords("a", "zurich"), keywords("b", "zürich"))
    base = write_version(str(tmp_path), rows, tokenizer=EXACT)
    assert base != write_version(str(tmp_path), rows)
    changed = change_version(base, removed=["b"], added=table_of(keywords("c", "event")))
    many = [keywords(f"m{number}", "zurich") for number in range(CHANGED_ROWS_MIN + 1)]
    rebuilt = change_version(changed, removed=[], added=table_of(*many))
    assert StoredVersion.read(rebuilt).is_base
    for uri in (base, changed, rebuilt, *split_version(changed, 2)):
        assert StoredVersion.read(uri).tokenizer == readable_tokenizer(uri) == EXACT
        assert matches(uri) <= {"b"}


def test_an_index_with_other_options_than_its_table_is_damaged(tmp_path: Path) -> None:
    rows = table_of(keywords("a", "zurich"))
    exact = Path(write_version(str(tmp_path), rows, tokenizer=EXACT) + ".keywords")
    folded = write_version(str(tmp_path), rows)
    Path(folded + ".keywords").write_bytes(exact.read_bytes())
    with pytest.raises(IndexFileError) as caught:
        open_version(folded)
    assert caught.value.code == "index.damaged"
    assert readable_tokenizer(folded) is None


@pytest.mark.parametrize("options", [None, b"", b"[]", b"7", b'{"fold_diacritics": true}'])
def test_a_version_with_invalid_options_is_damaged(tmp_path: Path, options: bytes | None) -> None:
    uri = write_version(str(tmp_path), table_of(keywords("a", "zurich")))
    table = pa.ipc.open_file(f"{uri}.arrow").read_all()
    metadata = dict(table.schema.metadata or {})
    del metadata[b"penstock.tokenizer"]
    if options is not None:
        metadata[b"penstock.tokenizer"] = options
    written = write_table(table.replace_schema_metadata(metadata), tmp_path)
    with pytest.raises(IndexFileError) as caught:
        StoredVersion.read(written)
    assert caught.value.code == "index.damaged"


def test_a_version_of_an_older_format_has_the_options_of_its_time(tmp_path: Path) -> None:
    path = StoredSubscription(id="path", subscriber="anna", query="//eventCode")
    uri = write_version(str(tmp_path), table_of(path))
    table = pa.ipc.open_file(f"{uri}.arrow").read_all()
    older = write_table(table.replace_schema_metadata({"penstock.format": "4"}), tmp_path)
    Path(f"{uri}.index").rename(f"{older}.index")
    assert StoredVersion.read(older).tokenizer == TOKENIZER_BEFORE_OPTIONS
    added = table_of(keywords("a", "zurich"), keywords("b", "code"))
    assert matches(change_version(older, removed=[], added=added)) == {"path", "b"}


def write_table(table: pa.Table, folder: Path) -> str:
    """Stores a table as a version named by its digest; returns the URI."""
    import hashlib

    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = sink.getvalue().to_pybytes()
    uri = f"{folder}/{hashlib.sha256(content).hexdigest()}"
    Path(f"{uri}.arrow").write_bytes(content)
    assert parse_uri(uri)
    return uri


def test_options_that_a_stored_query_does_not_fit_are_refused(tmp_path: Path) -> None:
    pairs = "".join(f"a{number} á{number} " for number in range(KEYWORDS_MAX // 2 + 1))
    with Workspace.create(tmp_path) as workspace:
        workspace.subscriptions.add(keywords("many", pairs))
        with pytest.raises(QueryError, match="the subscription `many`") as caught:
            workspace.tokenizer.write(EXACT)
        assert caught.value.code == "keywords.too-many"
        assert workspace.tokenizer.read() == TokenizerOptions()
        workspace.subscriptions.remove(["many"])
        workspace.tokenizer.write(EXACT)
        with pytest.raises(QueryError):
            workspace.subscriptions.add(keywords("many", pairs))


@pytest.mark.parametrize(
    ("kind", "query", "expected"),
    [
        ("keywords", '-Zürich "storm"', TOKENIZER_BEFORE_OPTIONS),
        ("xpath", "/a", TokenizerOptions()),
    ],
)
def test_the_keywords_of_an_older_workspace_keep_their_meaning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    query: str,
    expected: TokenizerOptions,
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:8])
        connection = database.create(tmp_path / "penstock.sqlite")
        with connection.write_transaction() as older:
            older.execute("INSERT INTO subscribers VALUES ('anna', 0)")
            older.execute(
                "INSERT INTO subscriptions (id, subscriber, kind, query, namespaces, returns,"
                " paused, backfill, created_at)"
                " VALUES ('one', 'anna', ?, ?, '{}', 'document', 0, 'none', 0)",
                (kind, query),
            )
        connection.close()
    opened, before = database.open_existing(tmp_path / "penstock.sqlite")
    opened.close()
    assert before < FORMAT_BEFORE < len(MIGRATIONS)
    with sqlite3.connect(tmp_path / "penstock.sqlite") as reader:
        (stored,) = reader.execute("SELECT query FROM subscriptions").fetchone()
    reader.close()
    assert stored == ("zürich storm" if kind == "keywords" else "/a")
    with Workspace.open(tmp_path) as workspace:
        assert workspace.tokenizer.read() == expected
