"""Workspaces: creation, opening, migration, and refusal of unreadable ones."""

from __future__ import annotations

import os
import sqlite3
import stat
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.workspace import StoredSubscription, Workspace, database, open_version
from penstock.workspace.layout import FOLDERS
from penstock.workspace.migrations import MIGRATIONS
from penstock.workspace.workspace import PRIVATE_SINCE


def code_of_opening(path: Path) -> str:
    with pytest.raises(PenstockError) as caught:
        Workspace.open(path)
    return caught.value.code


def test_a_folder_with_other_files_becomes_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "mine.xml").write_text("<a/>")
    Workspace.create(tmp_path).close()
    Workspace.open(tmp_path).close()
    assert (tmp_path / "mine.xml").read_text() == "<a/>"


def test_a_workspace_is_created_once(tmp_path: Path) -> None:
    with Workspace.create(tmp_path) as workspace:
        workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
    with pytest.raises(PenstockError) as caught:
        Workspace.create(tmp_path)
    assert caught.value.code == "workspace.exists"
    with Workspace.open(tmp_path) as workspace:
        assert len(workspace.subscriptions) == 1


def test_an_interrupted_creation_can_be_repeated(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "penstock.sqlite").close()
    assert code_of_opening(tmp_path) == "workspace.missing"
    Workspace.create(tmp_path).close()
    Workspace.open(tmp_path).close()


def test_a_folder_that_is_no_workspace_is_refused(tmp_path: Path) -> None:
    assert code_of_opening(tmp_path) == "workspace.missing"
    other = sqlite3.connect(tmp_path / "penstock.sqlite")
    other.execute("CREATE TABLE something (a)")
    other.close()
    assert code_of_opening(tmp_path) == "workspace.missing"
    (tmp_path / "penstock.sqlite").write_bytes(b"not a SQLite file, but long enough" * 10)
    assert code_of_opening(tmp_path) == "workspace.damaged"


def test_a_newer_workspace_is_refused_and_left_alone(tmp_path: Path) -> None:
    Workspace.create(tmp_path).close()
    newer = sqlite3.connect(tmp_path / "penstock.sqlite")
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    assert code_of_opening(tmp_path) == "workspace.too-new"


def test_an_older_workspace_is_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Workspace.create(tmp_path) as workspace:
        workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))

    def next_migration(connection: sqlite3.Connection) -> None:
        connection.execute("ALTER TABLE subscribers ADD COLUMN note TEXT")

    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS, next_migration))
    for _ in range(2):
        with Workspace.open(tmp_path) as workspace:
            assert len(workspace.subscriptions) == 1
    reader = sqlite3.connect(tmp_path / "penstock.sqlite")
    assert reader.execute("SELECT name, note FROM subscribers").fetchall() == [("anna", None)]
    reader.close()


def test_a_workspace_without_query_kinds_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:1])
        Workspace.create(tmp_path).close()
    older = sqlite3.connect(tmp_path / "penstock.sqlite")
    older.execute("INSERT INTO subscribers VALUES ('anna', 0)")
    older.execute(
        "INSERT INTO subscriptions VALUES"
        " ('one', 'anna', '/a', '{}', NULL, 'document', 0, NULL, NULL, 'none', 0)"
    )
    older.commit()
    older.close()
    with Workspace.open(tmp_path) as workspace:
        assert workspace.subscriptions.get("one").kind == "xpath"
        words = StoredSubscription(subscriber="ben", kind="keywords", query="a b")
        assert workspace.subscriptions.add(words).kind == "keywords"
        assert len(open_version(workspace.current_version()).matcher.match(b"<a>b</a>")) == 2


def modes(folder: Path) -> dict[str, int]:
    """The permissions of everything at the top of a workspace."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_workspace_is_accessible_to_its_owner_only(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        with Workspace.create(tmp_path / "new") as workspace:
            workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
            with workspace.lock("run"):
                found = modes(workspace.path)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700
    assert {found.pop(name) for name in FOLDERS} == {0o700}
    database_files = {
        f"{name}{suffix}"
        for name in ("penstock.sqlite", "inbox.sqlite")
        for suffix in ("", "-wal", "-shm")
    }
    assert set(found) == {*database_files, "run.lock"}
    assert set(found.values()) == {0o600}
    # What an administrator has extended stays so, also in an existing folder.
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o750)
    Workspace.create(shared).close()
    (shared / "tables").chmod(0o770)
    Workspace.open(shared).close()
    assert modes(shared)["tables"] == 0o770
    assert stat.S_IMODE(shared.stat().st_mode) == 0o750


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_an_older_workspace_becomes_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[: PRIVATE_SINCE - 1])
        Workspace.create(tmp_path).close()
    (tmp_path / "notes.txt").touch(0o644)
    for path in tmp_path.iterdir():
        path.chmod(0o755 if path.is_dir() else 0o644)
    Workspace.open(tmp_path).close()
    found = modes(tmp_path)
    assert found.pop("notes.txt") == 0o644, "not a part of the workspace"
    assert {found.pop(name) for name in FOLDERS} == {0o700}
    assert set(found.values()) == {0o600}


def test_names_of_older_workspaces_are_not_given_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:3])
        Workspace.create(tmp_path).close()
    older = sqlite3.connect(tmp_path / "penstock.sqlite")
    older.execute("INSERT INTO subscribers VALUES ('anna', 0)")
    for name in ("anna-2", "anna-7", "other"):
        older.execute(
            "INSERT INTO subscriptions VALUES"
            " (?, 'anna', '/a', '{}', NULL, 'document', 0, NULL, NULL, 'none', 0, 'xpath')",
            (name,),
        )
    older.execute("DELETE FROM subscriptions WHERE id = 'anna-7'")
    older.commit()
    older.close()
    with Workspace.open(tmp_path) as workspace:
        added = workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        assert added.id == "anna-8"


def test_a_failed_migration_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Workspace.create(tmp_path).close()

    def failing_migration(connection: sqlite3.Connection) -> None:
        connection.execute("DROP TABLE changes")
        raise RuntimeError("the migration fails here")

    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", (*MIGRATIONS, failing_migration))
        with pytest.raises(RuntimeError):
            Workspace.open(tmp_path)
    with Workspace.open(tmp_path) as workspace:
        workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))


def test_missing_folders_are_created_again(tmp_path: Path) -> None:
    Workspace.create(tmp_path).close()
    (tmp_path / "inbox").rmdir()
    with Workspace.open(tmp_path) as workspace:
        assert workspace.inbox.folder.is_dir()


def test_a_writer_that_never_ends_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS_MAX", 0.1)
    with Workspace.create(tmp_path) as workspace, Workspace.open(tmp_path) as other:
        with other._database.write_transaction(), pytest.raises(PenstockError) as caught:
            workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))
        assert caught.value.code == "workspace.busy"
        workspace.subscriptions.add(StoredSubscription(subscriber="anna", query="/a"))


def test_a_file_that_cannot_be_opened_is_reported(tmp_path: Path) -> None:
    (tmp_path / "penstock.sqlite").mkdir()
    with pytest.raises(PermissionError, match="open"):
        Workspace.create(tmp_path)


def test_a_workspace_without_header_tests_is_upgraded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:3])
        Workspace.create(tmp_path).close()
        connection = sqlite3.connect(tmp_path / "penstock.sqlite")
        with connection:
            connection.execute("INSERT INTO subscribers VALUES ('anna', 1)")
            connection.execute(
                "INSERT INTO subscriptions (id, subscriber, query, namespaces, returns, paused,"
                " backfill, created_at)"
                " VALUES ('old', 'anna', '/a', '{}', 'document', 0, 'none', 1)"
            )
        connection.close()
    with Workspace.open(tmp_path) as workspace:
        assert workspace.subscriptions.get("old").where == {}
        new = StoredSubscription(subscriber="anna", query="/a", where={"lang": "en"})
        assert workspace.subscriptions.add(new).where == {"lang": "en"}


def test_keyword_queries_keep_their_meaning(tmp_path: Path) -> None:
    """`AND` and `NOT` were words, and other search syntax was ignored."""
    before = {
        "a": ("storm AND surge", "storm and surge"),
        "b": ("-surge NOT tid*", "surge not tid"),
        "c": ('("Storm surge") -- x', "storm surge x"),
        "d": ("gale OR storm", "gale OR storm"),
    }
    with Workspace.create(tmp_path) as workspace:
        for name in before:
            workspace.subscriptions.add(
                StoredSubscription(id=name, subscriber="anna", kind="keywords", query="x")
            )
    older = sqlite3.connect(tmp_path / "penstock.sqlite")
    (migration,) = [each for each in MIGRATIONS if each.__name__ == "_keep_meaning_of_keywords"]
    for name, (query, _) in before.items():
        older.execute("UPDATE subscriptions SET query = ? WHERE id = ?", (query, name))
    older.execute("DELETE FROM changes")
    older.commit()
    migration(older)
    rows = older.execute("SELECT id, query FROM subscriptions ORDER BY id").fetchall()
    assert dict(rows) == {name: after for name, (_, after) in before.items()}
    changed = older.execute("SELECT subscription FROM changes ORDER BY subscription").fetchall()
    assert changed == [("a",), ("b",), ("c",)]
    older.close()
