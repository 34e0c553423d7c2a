"""Records of published documents that cannot be read, because their inbox file is damaged."""

from __future__ import annotations

import itertools
import logging
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

from penstock.workspace.journal_scanner import Missing
from penstock.workspace.private_files import make_private_folder
from penstock.workspace.timestamps import to_microseconds, utc_now

logger = logging.getLogger(__name__)


def record_damage(connection: sqlite3.Connection, missing: Missing, damaged_folder: Path) -> None:
    """Record documents as damaged, forget their identities, and keep their file aside."""
    name = "" if missing.path is None else missing.path.name
    found_at = to_microseconds(utc_now())
    for first, last in _unrecorded(connection, missing):
        logger.warning("inbox file %s: documents %d to %d cannot be read", name, first, last)
        if missing.path is not None:
            _keep_aside(missing.path, damaged_folder)
        connection.execute(
            "INSERT INTO damaged (first, last, file, reason, found_at, restored)"
            " VALUES (?, ?, ?, ?, ?, 0)",
            (first, last, name, missing.reason, found_at),
        )
        connection.execute(
            "INSERT OR REPLACE INTO damaged_identities"
            " SELECT identity, sequence FROM published WHERE sequence BETWEEN ? AND ?",
            (first, last),
        )
        connection.execute("DELETE FROM published WHERE sequence BETWEEN ? AND ?", (first, last))


def record_publications(
    connection: sqlite3.Connection, published: Iterable[tuple[str, int]]
) -> None:
    """Record damaged documents as restored that are published again, under new numbers."""
    if not connection.execute("SELECT 1 FROM damaged_identities LIMIT 1").fetchone():
        return
    restored = []
    for identity, sequence in published:
        row = connection.execute(
            "DELETE FROM damaged_identities WHERE identity = ? RETURNING sequence", (identity,)
        ).fetchone()
        if row is not None:
            restored.append(row[0])
            # The replay of a dead letter has the outcome of the document in its place.
            connection.execute(
                "UPDATE replays SET sequence = ? WHERE sequence = ?", (sequence, row[0])
            )
    for first, last in _runs(sorted(restored)):
        record_restoration(connection, first, last)


def record_restoration(connection: sqlite3.Connection, first: int, last: int) -> None:
    """Record those documents of a range that are damaged as restored."""
    damaged = connection.execute(
        "SELECT first, last, file, reason, found_at FROM damaged"
        " WHERE NOT restored AND last >= ? AND first <= ?",
        (first, last),
    ).fetchall()
    for begin, end, *rest in damaged:
        start, stop = max(first, begin), min(last, end)
        ranges = ((begin, start - 1, 0), (start, stop, 1), (stop + 1, end, 0))
        connection.execute("DELETE FROM damaged WHERE first = ?", (begin,))
        connection.executemany(
            "INSERT INTO damaged (first, last, file, reason, found_at, restored)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            [(a, b, *rest, is_restored) for a, b, is_restored in ranges if a <= b],
        )
    connection.execute(
        "DELETE FROM damaged_identities WHERE sequence BETWEEN ? AND ?", (first, last)
    )


def _runs(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The first and last of consecutive numbers."""
    for _, run in itertools.groupby(enumerate(numbers), lambda pair: pair[1] - pair[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]


def _unrecorded(connection: sqlite3.Connection, missing: Missing) -> list[tuple[int, int]]:
    """The parts of a range that are not recorded as damaged or restored."""
    recorded = connection.execute(
        "SELECT first, last FROM damaged WHERE last >= ? AND first <= ? ORDER BY first",
        (missing.first, missing.last),
    ).fetchall()
    parts = []
    expected = missing.first
    for first, last in recorded:
        parts.append((expected, first - 1))
        expected = last + 1
    parts.append((expected, missing.last))
    return [(first, last) for first, last in parts if first <= last]


def _keep_aside(path: Path, damaged_folder: Path) -> None:
    make_private_folder(damaged_folder)
    target = damaged_folder / path.name
    if target.exists():
        return
    try:
        os.link(path, target)
    except OSError:  # the file system has no hard links
        shutil.copyfile(path, target)
