"""The durable state of a synchronisation server, in SQLite.

A driver writes the changes of a round in one transaction before it sends the messages of the round,
so that nothing is acknowledged that is not stored.
"""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from pathlib import Path
from typing import Any, Final, Protocol, TypeVar

from penstock.errors import error
from penstock.language.updates.ast import Name
from penstock.sync import StateChanges, StoredState, SyncSubscription
from penstock.sync.document_tree import NewNode, NodeKind, Place
from penstock.sync.operations import (
    Copy,
    CopyAttribute,
    Delete,
    Insert,
    Move,
    Rename,
    Restore,
    SetAttribute,
    SetValue,
)
from penstock.sync.reports import Outcome, Report
from penstock.sync.server_state import Checkpoint, ClientRecord
from penstock.sync.update_log import AddressedReport, LogEntry
from penstock.workspace.database import Database
from penstock.workspace.private_files import create_private

_T = TypeVar("_T")

APPLICATION_ID: Final = 0x50454E59
"""``PENY``: marks a SQLite file as the state of a synchronisation server."""

FORMAT: Final = 1
"""Version of the tables."""

_TABLES: Final = (
    "CREATE TABLE document (only INTEGER PRIMARY KEY CHECK (only = 1),"
    " version INTEGER NOT NULL, snapshot BLOB NOT NULL, next_replica INTEGER NOT NULL) STRICT",
    "CREATE TABLE entries (version INTEGER PRIMARY KEY, entry TEXT NOT NULL) STRICT",
    "CREATE TABLE clients (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
)

_TYPES: Final[dict[str, Any]] = {
    each.__name__: each
    for each in (
        *(Insert, Delete, Restore, Move, Copy, SetValue, Rename, SetAttribute, CopyAttribute),
        *(Name, NewNode, NodeKind, Place, Outcome, Report, AddressedReport, LogEntry),
        *(ClientRecord, SyncSubscription),
    )
}


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
                "SELECT version, snapshot, next_replica FROM document"
            ).fetchone()
            if row is None:
                return None
            entries = connection.execute("SELECT entry FROM entries ORDER BY version")
            records = connection.execute("SELECT name, record FROM clients ORDER BY name")
            try:
                return StoredState(
                    Checkpoint(row[0], row[1]),
                    [_decode(entry, LogEntry) for (entry,) in entries],
                    {name: _decode(record, ClientRecord) for name, record in records},
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
                ((entry.version, _encode(entry)) for entry in changes.entries),
            )
            if changes.checkpoint is not None:
                start, snapshot = changes.checkpoint.version, changes.checkpoint.snapshot
                connection.execute(
                    "INSERT INTO document VALUES (1, ?, ?, 1) ON CONFLICT (only)"
                    " DO UPDATE SET version = excluded.version, snapshot = excluded.snapshot",
                    (start, snapshot),
                )
                connection.execute("DELETE FROM entries WHERE version <= ?", (start,))
            if changes.next_replica is not None:
                connection.execute("UPDATE document SET next_replica = ?", (changes.next_replica,))
            for name, record in changes.clients.items():
                if record is None:
                    connection.execute("DELETE FROM clients WHERE name = ?", (name,))
                else:
                    connection.execute(
                        "INSERT OR REPLACE INTO clients VALUES (?, ?)", (name, _encode(record))
                    )

    def close(self) -> None:
        """Closes the file."""
        self._database.close()


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


def _encode(value: object) -> str:
    return json.dumps(_plain(value), separators=(",", ":"))


def _plain(value: object) -> object:
    """A value in terms of JSON: an object of ours is its type and fields."""
    if isinstance(value, NodeKind | Outcome):
        return {"type": type(value).__name__, "fields": [value.value]}
    if dataclasses.is_dataclass(value):
        fields = [_plain(getattr(value, each.name)) for each in dataclasses.fields(value)]
        return {"type": type(value).__name__, "fields": fields}
    return [_plain(each) for each in value] if isinstance(value, tuple) else value


def _decode(text: str, expected: type[_T]) -> _T:
    value = json.loads(text, object_hook=_object)
    assert isinstance(value, expected)
    return value


def _object(plain: dict[str, Any]) -> object:
    return _TYPES[plain["type"]](*map(_frozen, plain["fields"]))


def _frozen(value: object) -> object:
    return tuple(map(_frozen, value)) if isinstance(value, list) else value
