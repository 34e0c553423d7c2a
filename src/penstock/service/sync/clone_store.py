"""What a working directory keeps of a clone, in SQLite: one row, and a log for the user.

Every change is one transaction, so the state is complete whenever a command is killed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from penstock.errors import error
from penstock.service.sync.limits import LOGGED_CHARACTERS_MAX, LOGGED_EVENTS_MAX
from penstock.workspace.sqlite_errors import translate_error

APPLICATION_ID: Final = 0x50454E43
"""``PENC``: marks a SQLite file as the state of a clone."""

FORMAT: Final = 1
"""Version of the tables."""

_TABLES: Final = (
    "CREATE TABLE clone (only INTEGER PRIMARY KEY CHECK (only = 1), url TEXT NOT NULL,"
    " authorities TEXT, plaintext INTEGER NOT NULL, inode INTEGER NOT NULL, file TEXT NOT NULL,"
    " state BLOB NOT NULL, checked_out TEXT NOT NULL, indented TEXT NOT NULL, previous BLOB,"
    " target TEXT, target_indented TEXT) STRICT",
    "CREATE TABLE events (number INTEGER PRIMARY KEY, at TEXT NOT NULL, kind TEXT NOT NULL,"
    " text TEXT NOT NULL) STRICT",
)


@dataclass(frozen=True, slots=True)
class CloneRow:
    """The stored state."""

    url: str
    authorities: str | None
    """File of the certificates to trust; ``None`` for those of the system."""
    plaintext: int
    """Whether the token may be sent to another machine without TLS."""
    inode: int
    """Of the database. A copy of the folder has another: two clients with the same numbers would
    be taken for one."""
    file: str
    """Name of the XML file."""
    state: bytes
    """The client's state."""
    checked_out: str
    """Digest of the file whose content is the cache of the state, or of ``previous`` if there is
    one; empty if the file was not written yet."""
    indented: str = "[]"
    """Label paths of the elements that are indented in this file, as JSON."""
    previous: bytes | None = None
    """The state before, while the file is being replaced."""
    target: str | None = None
    """Digest of what the file is being replaced by."""
    target_indented: str | None = None
    """Label paths that are indented in it."""


@dataclass(frozen=True, slots=True)
class Event:
    """A line of the log of a working directory."""

    at: str
    kind: str
    text: str


class CloneStore:
    """The database of a working directory.

    Raises
    ------
    SyncError
        ``sync.clone-damaged``: the file cannot be read, or is something else.
    WorkspaceError
        ``workspace.full``: the disk is full; nothing is lost.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        with self._translating():
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=60)
            try:
                self._connection.execute("PRAGMA synchronous = FULL")
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def _prepare(self) -> None:
        with self._transaction():
            (application,) = self._connection.execute("PRAGMA application_id").fetchone()
            (version,) = self._connection.execute("PRAGMA user_version").fetchone()
            (tables,) = self._connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
            if application == 0 and tables == 0:
                for statement in _TABLES:
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            elif application != APPLICATION_ID or version != FORMAT:
                raise error(
                    "sync.clone-damaged",
                    f"{self._path} is not the state of a clone, or a later one",
                )

    @property
    def inode(self) -> int:
        """Identifies the file on its file system."""
        return self._path.stat().st_ino

    def load(self) -> CloneRow | None:
        """The stored state, if there is one."""
        with self._translating():
            found = self._connection.execute(
                "SELECT url, authorities, plaintext, inode, file, state, checked_out, indented,"
                " previous, target, target_indented FROM clone"
            ).fetchone()
        return None if found is None else CloneRow(*found)

    def write(self, row: CloneRow, *events: tuple[str, str]) -> None:
        """Replaces the stored state, and logs events, each with its kind and text."""
        at = datetime.now(UTC).isoformat(timespec="seconds")
        with self._translating(), self._transaction():
            self._connection.execute(
                "INSERT OR REPLACE INTO clone VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                astuple(row),
            )
            self._connection.executemany(
                "INSERT INTO events (at, kind, text) VALUES (?, ?, ?)",
                ((at, kind, text[:LOGGED_CHARACTERS_MAX]) for kind, text in events),
            )
            if events:
                self._connection.execute(
                    "DELETE FROM events WHERE number <= (SELECT max(number) FROM events) - ?",
                    (LOGGED_EVENTS_MAX,),
                )

    def events(self) -> list[Event]:
        """The log, oldest first."""
        with self._translating():
            rows = self._connection.execute("SELECT at, kind, text FROM events ORDER BY number")
            return [Event(*row) for row in rows]

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.DatabaseError as problem:
            translated = translate_error(problem, self._path)
            if translated is None or getattr(translated, "code", None) == "workspace.damaged":
                translated = error("sync.clone-damaged", f"{self._path}: {problem}")
            raise translated from problem
