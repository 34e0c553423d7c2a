"""The SQLite file of a workspace: opened, versioned, and its failures told in our own words.

Any number of processes and threads may use the file at once. Writers take turns; readers see the
state of one moment.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import error
from penstock.workspace.limits import BUSY_SECONDS_MAX
from penstock.workspace.migrations import MIGRATIONS

APPLICATION = 0x50454E53
"""``PENS``: how SQLite knows whose file it is."""


class Database:
    """Connections to one file, one for each thread."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[sqlite3.Connection] = []

    @contextlib.contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the state of one moment until the block ends."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection that alone may write; all of what the block does happens, or nothing."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._telling():
            connection = self._connection()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # a full disk may have ended it
                    connection.execute("ROLLBACK")
                raise

    def _connection(self) -> sqlite3.Connection:
        # A connection must not be used on the other side of a fork.
        found = getattr(self._local, "of_process", None)
        if found is None or found[0] != os.getpid():
            connection = self._connect()
            self._local.of_process = found = (os.getpid(), connection)
            with self._lock:
                self._connections.append(connection)
        made: sqlite3.Connection = found[1]
        return made

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS_MAX, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    @contextlib.contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as failure:
            told = told_as(failure, self.path)
            if told is None:
                raise
            raise told from failure


def told_as(failure: sqlite3.DatabaseError, path: Path) -> Exception | None:
    """The failure in words that people know, where it is none of our own making."""
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return error("workspace.busy", f"another process keeps {path} to itself")
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return error("workspace.full", f"{path} cannot be written: {failure}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
        return PermissionError(errno.EACCES, str(failure), str(path))
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return error("workspace.damaged", f"{path} cannot be read: {failure}")
    return None


def create(path: Path) -> Database:
    """Make the file of a new workspace.

    Raises
    ------
    WorkspaceError
        ``workspace.exists``: there is one already.
    """
    database = Database(path)
    try:
        with database.writing() as connection:
            if _number(connection, "application_id") == APPLICATION:
                raise error("workspace.exists", f"{path.parent} is a workspace already")
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            _upgrade(connection, 0)
    except BaseException:
        database.close()
        raise
    return database


def open_existing(path: Path) -> Database:
    """Open the file of a workspace, and bring it up to date.

    Raises
    ------
    WorkspaceError
        ``workspace.missing``, ``workspace.too-new`` or ``workspace.damaged``.
    """
    if not path.is_file():
        raise error("workspace.missing", f"{path.parent} is not a workspace")
    database = Database(path)
    try:
        with database.reading() as connection:
            if _number(connection, "application_id") != APPLICATION:
                raise error("workspace.missing", f"{path} is not of a workspace")
            version = _number(connection, "user_version")
        if version > len(MIGRATIONS):
            raise error(
                "workspace.too-new",
                f"{path.parent} has format {version}, and this Penstock knows up to"
                f" {len(MIGRATIONS)}",
            )
        if version < len(MIGRATIONS):
            with database.writing() as connection:
                # Another process may have been quicker.
                _upgrade(connection, _number(connection, "user_version"))
    except BaseException:
        database.close()
        raise
    return database


def _upgrade(connection: sqlite3.Connection, version: int) -> None:
    for migrate in MIGRATIONS[version:]:
        migrate(connection)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
