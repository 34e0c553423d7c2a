"""The store of a synchronisation server: restart, and a server that is killed."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import support.sync.storing_server
from penstock.errors import WorkspaceError
from penstock.sync import Server, StateChanges
from penstock.workspace.sync_store import SqliteSyncStore
from support.contracts.native_engines import needs_native
from support.sync.store_contract import check_that_a_stored_state_is_what_was_written

pytestmark = needs_native


@pytest.mark.parametrize("seed", range(6))
def test_a_stored_state_is_what_was_written(tmp_path: Path, seed: int) -> None:
    check_that_a_stored_state_is_what_was_written(lambda: SqliteSyncStore(tmp_path / "state"), seed)


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "state"
    rng = random.Random(17)
    command = [sys.executable, support.sync.storing_server.__file__, str(path)]
    for _ in range(3):
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for _ in range(rng.randrange(2, 60)):
                acknowledged = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
        state = SqliteSyncStore(path).load()
        assert state is not None
        server = Server(state, horizon=40)
        record = server.client("one")
        assert record is not None
        assert record.decided >= acknowledged > 0
        stored = server.tree.canonical_xml()
        numbers = b"".join(b"<n>%d</n>" % at for at in range(1, record.decided + 1))
        assert stored == b"<r>%s</r>" % numbers


def test_another_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (a)")
    connection.close()
    with pytest.raises(WorkspaceError) as refused:
        SqliteSyncStore(path)
    assert refused.value.code == "workspace.missing"


def test_a_store_from_before_checkpoints_had_incarnations_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "state"
    store = SqliteSyncStore(path)
    server = Server.of_document(b"<r/>")
    store.write(server.take_changes())
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("ALTER TABLE document DROP COLUMN incarnations")
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    for incarnations in ((), ((1, 7),)):
        store = SqliteSyncStore(path)
        state = store.load()
        assert state is not None
        assert state.checkpoint.incarnations == incarnations
        checkpoint = replace(state.checkpoint, incarnations=((1, 7),))
        store.write(StateChanges(checkpoint=checkpoint))
        store.close()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state"
    SqliteSyncStore(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(WorkspaceError) as refused:
        SqliteSyncStore(path)
    assert refused.value.code == "workspace.too-new"
