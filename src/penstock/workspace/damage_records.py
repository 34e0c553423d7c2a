"""Records of published documents that cannot be read, because their inbox file is damaged."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
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
        connection.execute("DELETE FROM published WHERE sequence BETWEEN ? AND ?", (first, last))


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
