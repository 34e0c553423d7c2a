"""The SQLite database of a workspace: connections, transactions, migrations, error translation.

Any number of processes and threads may use the file at once. Write transactions are serialised;
a read transaction sees one snapshot.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from penstock.errors import error
from penstock.workspace.atomic_files import sync_file
from penstock.workspace.limits import BUSY_SECONDS_MAX, NAME_CHARACTERS_MAX
from penstock.workspace.migrations import MIGRATIONS
from penstock.workspace.sqlite_errors import translate_error

APPLICATION_ID = 0x50454E53
"""``PENS``: marks a SQLite file as a workspace's database."""


class Database:
    """A SQLite file, with one connection per thread.

    Parameters
    ----------
    path
        The file.
    read_only
        Whether to need no writes, not even SQLite's shared memory, so that the file can be read on
        a full disk and on a file system that is mounted read-only.
    synchronous
        ``FULL``: a committed transaction survives a power failure. ``NORMAL``: the last ones may be
        lost, in order; a commit does not wait for the disk.
    """

    def __init__(
        self,
        path: Path,
        *,
        read_only: bool = False,
        synchronous: Literal["FULL", "NORMAL"] = "FULL",
    ) -> None:
        self.path = path
        self._read_only = read_only
        self._synchronous = synchronous
        self._local = threading.local()
        self._lock = threading.Lock()
        self._connections: list[sqlite3.Connection] = []

    @contextlib.contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that reads from one snapshot."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextlib.contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock; rolled back if the block raises."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def change_counter(self) -> int:
        """A number that differs once another connection has committed a change."""
        with self._translate_errors():
            return _read_pragma(self._connection(), "data_version")

    def sync(self) -> None:
        """Flush committed transactions to disk."""
        log = self.path.with_name(f"{self.path.name}-wal")
        with contextlib.suppress(FileNotFoundError):  # a checkpoint has flushed them
            sync_file(log)

    def close(self) -> None:
        """Close the connections of all threads."""
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
        self._local = threading.local()

    @contextlib.contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._translate_errors():
            connection = self._connection()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite itself rolls back when the disk is full
                    connection.execute("ROLLBACK")
                raise

    def _connection(self) -> sqlite3.Connection:
        # A connection must not be carried across a fork.
        known = getattr(self._local, "pid_and_connection", None)
        if known is None or known[0] != os.getpid():
            connection = self._connect()
            self._local.pid_and_connection = known = (os.getpid(), connection)
            with self._lock:
                self._connections.append(connection)
        connection_of_thread: sqlite3.Connection = known[1]
        return connection_of_thread

    def _connect(self) -> sqlite3.Connection:
        if self._read_only:
            return _connect_read_only(self.path)
        connection = sqlite3.connect(
            self.path, timeout=BUSY_SECONDS_MAX, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(f"PRAGMA synchronous = {self._synchronous}")
            connection.execute("PRAGMA foreign_keys = ON")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextlib.contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as failure:
            translated = translate_error(failure, self.path)
            if translated is None:
                raise
            raise translated from failure
        except UnicodeEncodeError as failure:
            # SQLite stores text in UTF-8; Python makes a lone surrogate of an undecodable byte.
            text = failure.object[:NAME_CHARACTERS_MAX]
            raise error("workspace.name", f"{text!a} contains a lone surrogate") from failure


def _connect_read_only(path: Path) -> sqlite3.Connection:
    # SQLite reads with locks, in shared memory that it may have to create. Where it cannot, nobody
    # writes to the file either; it is then read as it is, unless its log has to be applied to it.
    log = Path(f"{path}-wal")
    has_log = log.exists() and log.stat().st_size
    modes = ("mode=ro",) if has_log else ("mode=ro", "mode=ro&immutable=1")
    for number, mode in enumerate(modes, 1):
        connection = sqlite3.connect(
            f"file:{quote(str(path))}?{mode}",
            uri=True,
            timeout=BUSY_SECONDS_MAX,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        except sqlite3.OperationalError:
            connection.close()
            if number == len(modes):
                raise
        except BaseException:
            connection.close()
            raise
        else:
            break
    return connection


def create(path: Path) -> Database:
    """Create the database of a new workspace.

    Raises
    ------
    WorkspaceError
        ``workspace.exists``: the folder is a workspace already.
    """
    database = Database(path)
    try:
        with database.write_transaction() as connection:
            if _read_pragma(connection, "application_id") == APPLICATION_ID:
                raise error("workspace.exists", f"{path.parent} is a workspace already")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            _migrate(connection, 0)
    except BaseException:
        database.close()
        raise
    return database


def open_existing(path: Path, *, read_only: bool = False) -> tuple[Database, int]:
    """Open the database of a workspace, and apply missing migrations.

    One of an older format is migrated even if it shall be read only, because it cannot be read
    otherwise.

    Returns
    -------
    The database, and the format that it had before.

    Raises
    ------
    WorkspaceError
        ``workspace.missing``, ``workspace.too-new`` or ``workspace.damaged``.
    """
    if not path.is_file():
        raise error("workspace.missing", f"{path.parent} is not a workspace")
    database = Database(path, read_only=read_only)
    try:
        with database.read_transaction() as connection:
            if _read_pragma(connection, "application_id") != APPLICATION_ID:
                raise error("workspace.missing", f"{path} is not a workspace's database")
            version = _read_pragma(connection, "user_version")
        if version > len(MIGRATIONS):
            raise error(
                "workspace.too-new",
                f"{path.parent} has format {version}; this version of Penstock supports up to"
                f" {len(MIGRATIONS)}",
            )
        if version < len(MIGRATIONS):
            if read_only:
                database.close()
                database = Database(path)
            with database.write_transaction() as connection:
                # Another process may have migrated it in the meantime.
                _migrate(connection, _read_pragma(connection, "user_version"))
    except BaseException:
        database.close()
        raise
    return database, version


def _migrate(connection: sqlite3.Connection, version: int) -> None:
    for apply_step in MIGRATIONS[version:]:
        apply_step(connection)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _read_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    (value,) = connection.execute(f"PRAGMA {pragma}").fetchone()
    return int(value)
