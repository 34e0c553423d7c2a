"""Errors of SQLite as errors of Penstock."""

from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

from penstock.errors import error


def translate_error(failure: sqlite3.DatabaseError, path: Path) -> Exception | None:
    """The Penstock or OS error for a SQLite error; ``None`` if it is a programming error."""
    code = getattr(failure, "sqlite_errorcode", 0) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return error("workspace.busy", f"another process holds the lock on {path}")
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        return error("workspace.full", f"{path} cannot be written: {failure}")
    if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_READONLY):
        return PermissionError(errno.EACCES, str(failure), str(path))
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return error("workspace.damaged", f"{path} cannot be read: {failure}")
    return None
