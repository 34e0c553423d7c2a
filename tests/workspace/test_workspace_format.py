"""Workspaces: creation, opening, migration, and refusal of unreadable ones."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from penstock.errors import PenstockError
from penstock.workspace import StoredSubscription, Workspace, database, open_version
from penstock.workspace.migrations import MIGRATIONS


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
