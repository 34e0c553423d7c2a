"""Creates the tables of a router's file, and brings those of an older format up to date."""

from __future__ import annotations

import dataclasses
import json
import secrets
import sqlite3
from pathlib import Path

from penstock.errors import error
from penstock.routing import (
    RouterCounters,
)
from penstock.workspace.router_tables import (
    APPLICATION_ID,
    FORMAT,
    MIGRATIONS,
    TABLES,
)


def prepare_tables(connection: sqlite3.Connection, path: Path, name: str) -> None:
    """Checks the format of a file; creates the tables in an empty one."""
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if tables or application:
        _migrate(connection, path)
        return
    _execute_all(connection, TABLES)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
    counters = json.dumps(dataclasses.asdict(RouterCounters()))
    connection.execute(
        "INSERT INTO router (only, name, store_id, counters) VALUES (1, ?, ?, ?)",
        (name, secrets.token_hex(16), counters),
    )


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Changes the tables into those of the current format."""
    for older in range(check_format(connection, path), FORMAT):
        _execute_all(connection, MIGRATIONS[older])
    connection.execute(f"PRAGMA user_version = {FORMAT}")


def _execute_all(connection: sqlite3.Connection, statements: str) -> None:
    """Executes statements in the current transaction."""
    statement = ""
    for line in statements.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            connection.execute(statement)
            statement = ""


def check_format(connection: sqlite3.Connection, path: Path) -> int:
    """The format of a file."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise error("workspace.damaged", f"{path} is not the state of a router")
    if version > FORMAT:
        raise error(
            "workspace.too-new",
            f"{path} has format {version}; this version of Penstock supports up to {FORMAT}",
        )
    return int(version)
