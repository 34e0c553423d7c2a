"""The durable state of a synchronisation server, in SQLite.

A driver writes the changes of a round in one transaction before it sends the messages of the round,
so that nothing is acknowledged that is not stored.
"""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Final, Protocol

from penstock.errors import error
from penstock.sync import StateChanges, StoredState
from penstock.sync.server_state import Checkpoint, ClientRecord
from penstock.sync.update_log import LogEntry
from penstock.workspace.database import Database
from penstock.workspace.private_files import create_private
from penstock.workspace.sync_state_codec import decode_stored, encode_stored

APPLICATION_ID: Final = 0x50454E59
"""``PENY``: marks a SQLite file as the state of a synchronisation server."""

FORMAT: Final = 2
"""Version of the tables."""

_ADD_INCARNATIONS: Final = "ALTER TABLE document ADD COLUMN incarnations TEXT NOT NULL DEFAULT '[]'"
"""Makes version 2 of version 1."""

_TABLES: Final = (
    "CREATE TABLE document (only INTEGER PRIMARY KEY CHECK (only = 1),"
    " version INTEGER NOT NULL, snapshot BLOB NOT NULL, next_replica INTEGER NOT NULL) STRICT",
    _ADD_INCARNATIONS,
    "CREATE TABLE entries (version INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT",
    "CREATE TABLE clients (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
)


class SyncStore(Protocol):
    """Keeps the state of a server."""

    def load(self) -> StoredState | None:
        """What was written; ``None`` if nothing was."""

    def write(self, changes: StateChanges) -> None:
        """Writes all of the changes, or none. They survive when it returns."""

    def close(self) -> None:
        """Releases the store."""


class SqliteSyncStore:
    """Keeps the state of a server in a SQLite file, which is created if it does not exist.

    Raises
    ------
    WorkspaceError
        ``workspace.missing``: the file is something else. ``workspace.too-new``: a later version
        of Penstock wrote it. ``workspace.damaged``: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        create_private(path)
        self._database = Database(path)
        try:
            with self._database.write_transaction() as connection:
                _prepare(connection, path)
        except BaseException:
            self._database.close()
            raise

    def load(self) -> StoredState | None:
        """What was written; ``None`` if nothing was."""
        with self._database.read_transaction() as connection:
            row = connection.execute(
                "SELECT version, snapshot, next_replica, incarnations FROM document"
            ).fetchone()
            if row is None:
                return None
            entries = connection.execute("SELECT entry FROM entries ORDER BY version")
            records = connection.execute("SELECT name, record FROM clients ORDER BY name")
            try:
                return StoredState(
                    Checkpoint(row[0], row[1], _runs(row[3])),
                    [decode_stored(entry, LogEntry) for (entry,) in entries],
                    {name: decode_stored(record, ClientRecord) for name, record in records},
                    row[2],
                )
            except (ValueError, KeyError, TypeError, AssertionError) as problem:
                message = f"{self._database.path} has a damaged row: {problem!r}"
                raise error("workspace.damaged", message) from problem

    def write(self, changes: StateChanges) -> None:
        """Writes all of the changes, or none. They survive when it returns."""
        if not changes:
            return
        with self._database.write_transaction() as connection:
            connection.executemany(
                "INSERT INTO entries VALUES (?, ?)",
                ((entry.version, encode_stored(entry)) for entry in changes.entries),
            )
            if changes.checkpoint is not None:
                start = changes.checkpoint.version
                incarnations = json.dumps(changes.checkpoint.incarnations)
                connection.execute(
                    "INSERT INTO document VALUES (1, ?, ?, 1, ?) ON CONFLICT (only)"
                    " DO UPDATE SET version = excluded.version, snapshot = excluded.snapshot,"
                    " incarnations = excluded.incarnations",
                    (start, changes.checkpoint.snapshot, incarnations),
                )
                connection.execute("DELETE FROM entries WHERE version <= ?", (start,))
            if changes.next_replica is not None:
                connection.execute("UPDATE document SET next_replica = ?", (changes.next_replica,))
            for name, record in changes.clients.items():
                if record is None:
                    connection.execute("DELETE FROM clients WHERE name = ?", (name,))
                else:
                    connection.execute(
                        "INSERT OR REPLACE INTO clients VALUES (?, ?)",
                        (name, encode_stored(record)),
                    )

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


def _runs(text: str) -> tuple[tuple[int, int], ...]:
    """The incarnations of a checkpoint."""
    return tuple((int(first), int(incarnation)) for first, incarnation in json.loads(text))


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    if application == 0 and tables == 0:
        for statement in _TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {FORMAT}")
    elif application != APPLICATION_ID:
        raise error("workspace.missing", f"{path} is not the state of a synchronisation server")
    elif version > FORMAT:
        raise error("workspace.too-new", f"{path} has format {version}; {FORMAT} is supported")
    elif version < FORMAT:
        connection.execute(_ADD_INCARNATIONS)
        connection.execute(f"PRAGMA user_version = {FORMAT}")
