"""The index of the journal: identities and sequence numbers of published documents, in SQLite.

Only publishers write it, under the inbox's lock, and nothing else is in this file: publishing
neither waits for changes of subscriptions nor delays the pipeline. Commits do not wait for the
disk: the journal is what a receipt relies on. After a power failure the index may be behind the
journal, which :mod:`penstock.workspace.inbox` corrects from the entries, or ahead of it, in which
case the documents are damaged ones.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.workspace.atomic_files import sync_directory, temporary_path
from penstock.workspace.private_files import create_private

FILE: Final = "inbox.sqlite"

_IDENTITIES_AT_ONCE: Final = 500
"""Identities that are looked up by one statement."""

_TABLES: Final = """
CREATE TABLE published (
    identity TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX published_in_order ON published (sequence);

-- Up to where the journal is indexed, and the next sequence number. `file` is empty if there is no
-- file to append to.
CREATE TABLE position (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    file TEXT NOT NULL,
    offset INTEGER NOT NULL,
    next INTEGER NOT NULL
) STRICT;

-- Replays of dead letters; `fixed` if other bytes were published.
CREATE TABLE replays (
    sequence INTEGER PRIMARY KEY,
    replay_of INTEGER NOT NULL,
    identity TEXT NOT NULL,
    fixed INTEGER NOT NULL CHECK (fixed IN (0, 1)),
    replayed_at INTEGER NOT NULL
) STRICT;

CREATE INDEX replays_of ON replays (replay_of);

-- Ranges of documents that could not be read, because their file is damaged; `restored` if they
-- were published again, from an undamaged copy or by their publisher.
CREATE TABLE damaged (
    first INTEGER PRIMARY KEY,
    last INTEGER NOT NULL,
    file TEXT NOT NULL,
    reason TEXT NOT NULL,
    found_at INTEGER NOT NULL,
    restored INTEGER NOT NULL CHECK (restored IN (0, 1))
) STRICT;

-- The identities of damaged documents that are not restored.
CREATE TABLE damaged_identities (
    identity TEXT PRIMARY KEY,
    sequence INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""


@dataclass(frozen=True, slots=True)
class Position:
    """Up to where the journal is indexed."""

    file: str
    """The name of the file that entries are appended to; empty if the next entry begins one."""
    offset: int
    """The end of its last indexed entry."""
    next: int
    """The sequence number of the next document."""


def create_index(
    path: Path,
    *,
    next_sequence: int = 1,
    published: Iterable[tuple[str, int]] = (),
    replays: Iterable[tuple[int, int, str, int, int]] = (),
) -> None:
    """Create an index file, atomically; a file of that name is replaced."""
    temporary = temporary_path(path)
    create_private(temporary)
    connection = sqlite3.connect(temporary)
    try:
        connection.executescript(_TABLES)
        connection.execute("INSERT INTO position VALUES (1, '', 0, ?)", (next_sequence,))
        connection.executemany("INSERT INTO published VALUES (?, ?)", published)
        connection.executemany("INSERT INTO replays VALUES (?, ?, ?, ?, ?)", replays)
        connection.commit()
        connection.close()
        os.replace(temporary, path)
    finally:
        connection.close()
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def read_position(connection: sqlite3.Connection) -> Position:
    """The position of the index."""
    return Position(*connection.execute("SELECT file, offset, next FROM position").fetchone())


def write_position(connection: sqlite3.Connection, position: Position) -> None:
    """Set the position of the index."""
    connection.execute(
        "UPDATE position SET file = ?, offset = ?, next = ?",
        (position.file, position.offset, position.next),
    )


def add_identities(connection: sqlite3.Connection, rows: Iterable[tuple[str, int]]) -> None:
    """Add identities; one that is known gets the new sequence number."""
    connection.executemany(
        "INSERT INTO published (identity, sequence) VALUES (?, ?)"
        " ON CONFLICT (identity) DO UPDATE SET sequence = excluded.sequence",
        rows,
    )


def known_sequences(connection: sqlite3.Connection, identities: Iterable[str]) -> dict[str, int]:
    """The sequence numbers of those identities that are known."""
    found: dict[str, int] = {}
    remaining = iter(identities)
    while some := list(itertools.islice(remaining, _IDENTITIES_AT_ONCE)):
        marks = ",".join("?" * len(some))
        query = f"SELECT identity, sequence FROM published WHERE identity IN ({marks})"
        found.update(connection.execute(query, some))
    return found
