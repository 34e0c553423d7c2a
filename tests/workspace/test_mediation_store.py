"""The mediator of a workspace, and the versions of its mappings."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from penstock.documents import Header
from penstock.errors import IndexFileError, MappingError
from penstock.mediation import Mapping
from penstock.schema import read_tree
from penstock.workspace import Workspace, database, file_store, open_mappings, write_mappings
from penstock.workspace.layout import DATABASE
from penstock.workspace.migrations import MIGRATIONS

CATALOGUE = read_tree("penstock schema 1\ncatalogue\n")
LARGER = read_tree("penstock schema 1\ncatalogue\n  course*\n")
MAPPING = Mapping.from_text("penstock mapping 1\nkatalog\n  => rename catalogue\n")
OTHER = Mapping.from_text("penstock mapping 1\nliste\n  => rename catalogue\n")
KATALOG = Header(publisher="south", schema="katalog")


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.create(tmp_path) as created:
        with created.mediation.changing() as mediator:
            mediator.add(mediator.next_version("courses", CATALOGUE))
            mediator.register("katalog", MAPPING, publisher="south")
        yield created


def test_registrations_are_stored(workspace: Workspace) -> None:
    with workspace.mediation.changing() as mediator:
        mediator.add(mediator.next_version("courses", LARGER))
        registered = mediator.register("katalog", OTHER, publisher="south")
    with Workspace.open(workspace.path) as opened:
        found = opened.mediation.read()
        assert found.local_schemas == [registered]
        assert found.local_schemas[0].earlier == (MAPPING.digest,)
        assert found.global_schemas == mediator.global_schemas
        assert dict(found.texts) == {each.digest: each.to_text() for each in (MAPPING, OTHER)}
        status = opened.status()
        assert (status.domains, status.local_schemas) == ({"courses": 2}, 1)


def test_a_failed_change_is_not_stored(workspace: Workspace) -> None:
    def register_and_fail() -> None:
        with workspace.mediation.changing() as mediator:
            mediator.register("liste", OTHER)
            mediator.withdraw("south", "nothing")

    with pytest.raises(MappingError):
        register_and_fail()
    assert [each.name for each in workspace.mediation.read().local_schemas] == ["katalog"]


def test_a_workspace_without_mediation_tables_is_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(database, "MIGRATIONS", MIGRATIONS[:2])
        Workspace.create(tmp_path).close()
    with Workspace.open(tmp_path) as opened:
        assert opened.mediation.read().domains == []
        assert Path(opened.mediation.current()).is_file()
    with contextlib.closing(sqlite3.connect(tmp_path / DATABASE)) as connection:
        found = connection.execute("PRAGMA user_version").fetchone()
    assert found == (len(MIGRATIONS),)


def test_a_mapping_version_never_changes(workspace: Workspace) -> None:
    before = workspace.mediation.current()
    assert workspace.mediation.current() == before
    with workspace.mediation.changing() as mediator:
        mediator.register("katalog", OTHER, publisher="south")
    after = workspace.mediation.current()
    assert after != before
    assert open_mappings(before).choose(KATALOG) == MAPPING
    assert open_mappings(after).choose(KATALOG) == OTHER


def test_a_damaged_mapping_file_is_refused_and_written_again(workspace: Workspace) -> None:
    path = Path(workspace.mediation.current())
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(IndexFileError) as refused:
        open_mappings(str(path))
    assert refused.value.code == "index.damaged"
    assert workspace.mediation.current() == str(path)
    assert open_mappings(str(path)).choose(KATALOG) == MAPPING
    path.unlink()
    with pytest.raises(IndexFileError) as missing:
        open_mappings(f"{path.parent}/{'0' * 64}.mappings")
    assert missing.value.code == "index.missing"


def test_remote_mappings_are_copied_into_the_cache(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = fs.SubTreeFileSystem(str(tmp_path / "remote"), fs.LocalFileSystem())
    monkeypatch.setattr(file_store, "resolve_uri", lambda uri: (remote, uri.partition("://")[2]))
    monkeypatch.setenv("PENSTOCK_CACHE", str(tmp_path / "cache"))
    uri = write_mappings("store://mappings", workspace.mediation.read().table())
    assert open_mappings(uri).choose(KATALOG) == MAPPING
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [uri.rpartition("/")[2]]


def test_mappings_in_a_relative_folder_have_an_absolute_uri(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    uri = write_mappings("mappings", workspace.mediation.read().table())
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir("elsewhere")
    assert open_mappings(uri).choose(KATALOG) == MAPPING
