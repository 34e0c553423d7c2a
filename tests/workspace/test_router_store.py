"""The file of a router's state: formats, names, damage, and neighbours that are forgotten."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from penstock.errors import PenstockError, WorkspaceError
from penstock.service.router.engine import RouterEngine
from penstock.workspace.layout import ROUTER_STATE
from penstock.workspace.router_store import RouterStore, forget_neighbour
from support.routing.one_router import document


def refusal(folder: Path, name: str = "r0") -> str:
    with pytest.raises(WorkspaceError) as refused:
        load(folder, name)
    return refused.value.code


def load(folder: Path, name: str) -> None:
    with closing(RouterStore.open(folder, name)) as store:
        store.load()


def change(folder: Path, statement: str) -> None:
    connection = sqlite3.connect(folder / ROUTER_STATE)
    connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """The folder of a router with a neighbour for which a document waits."""
    store = RouterStore.open(tmp_path, "r0")
    engine = RouterEngine(store)
    engine.run([partial(RouterEngine.add_neighbour, name="r1")])
    engine.run([partial(RouterEngine.publish, document=document())])
    store.close()
    return tmp_path


def test_the_file_is_private(stored: Path) -> None:
    assert os.stat(stored / ROUTER_STATE).st_mode & 0o077 == 0


def test_a_router_with_another_name_is_refused(stored: Path) -> None:
    assert refusal(stored, "r9") == "workspace.router-name"


def test_a_newer_format_is_refused(stored: Path) -> None:
    change(stored, "PRAGMA user_version = 99")
    assert refusal(stored) == "workspace.too-new"


def test_an_older_format_is_migrated(stored: Path) -> None:
    change(stored, "DROP TABLE unclean_ends")
    change(stored, "DROP TABLE set_aside")
    change(stored, "ALTER TABLE dead_letters DROP COLUMN report")
    change(stored, "PRAGMA user_version = 1")
    with closing(RouterStore.open(stored, "r0")) as store:
        engine = RouterEngine(store)
        engine.run([partial(RouterEngine.publish, document=document(b"<a>", 7))])
        assert [each.report for each in store.dead_letters()] == [None]
    load(stored, "r0")


def test_another_sqlite_file_is_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / ROUTER_STATE)
    connection.execute("CREATE TABLE other (x)")
    connection.close()
    assert refusal(tmp_path) == "workspace.damaged"


def test_a_file_that_is_not_sqlite_is_refused(tmp_path: Path) -> None:
    (tmp_path / ROUTER_STATE).write_bytes(b"no database" * 100)
    assert refusal(tmp_path) == "workspace.damaged"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE router SET counters = '[]'",
        "UPDATE router SET counters = '{'",
        "DELETE FROM documents",
        "UPDATE documents SET fields = '7'",
        "INSERT INTO subscriptions (id, definition) VALUES ('s', '{\"id\": 7}')",
        "INSERT INTO remembered VALUES ('unknown', x'00', 1)",
    ],
)
def test_rows_that_no_router_wrote_are_damage(stored: Path, statement: str) -> None:
    change(stored, statement)
    assert refusal(stored) == "workspace.damaged"


def test_a_cut_off_file_is_damage(stored: Path) -> None:
    path = stored / ROUTER_STATE
    path.write_bytes(path.read_bytes()[:5000])
    assert refusal(stored) == "workspace.damaged"


def test_a_neighbour_is_forgotten_with_what_waits_for_it(stored: Path) -> None:
    forget_neighbour(stored, "r1")
    store = RouterStore.open(stored, "r0")
    assert store.load().state.neighbours == ()
    store.close()
    connection = sqlite3.connect(stored / ROUTER_STATE)
    assert connection.execute("SELECT count(*) FROM documents").fetchone() == (0,)
    connection.close()


def test_only_a_neighbour_of_a_router_can_be_forgotten(stored: Path, tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="no neighbour `r7`"):
        forget_neighbour(stored, "r7")
    (tmp_path / "empty").mkdir()
    with pytest.raises(WorkspaceError, match="no state of a router"):
        forget_neighbour(tmp_path / "empty", "r1")


def test_dead_letters_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.workspace.router_store.ROUTER_DEAD_LETTER_BYTES_MAX", 2_500)
    store = RouterStore.open(tmp_path, "r0")
    engine = RouterEngine(store)

    def kept_after(number: int, size: int) -> list[str]:
        refused = document(b"<a>" + b"x" * size, number)
        engine.run([partial(RouterEngine.publish, document=refused)])
        return [each.document.header.id for each in store.dead_letters()]

    assert kept_after(1, 1_000) == ["1"]
    assert kept_after(2, 1_000) == ["1", "2"]
    assert kept_after(3, 1_000) == ["2", "3"]
    assert kept_after(4, 5_000) == ["4"]
    store.close()


def test_only_the_latest_dead_letters_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.workspace.router_store.ROUTER_DEAD_LETTERS_MAX", 2)
    store = RouterStore.open(tmp_path, "r0")
    engine = RouterEngine(store)
    for number in (1, 2, 3):
        engine.run([partial(RouterEngine.publish, document=document(b"<a>", number))])
    kept = store.dead_letters()
    assert [(each.document.header.id, each.code) for each in kept] == [
        ("2", "xml.unclosed"),
        ("3", "xml.unclosed"),
    ]
    store.close()
