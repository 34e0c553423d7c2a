"""The index version of the current subscriptions, written on demand.

A trigger logs every change of a subscription in the table ``changes``. The table ``version`` names
the last version and the last change it includes; later changes go into the next version, after
which the log is truncated up to it. After the tokenizer options of the workspace have changed, the
next version is a base version.
"""

from __future__ import annotations

import logging
import sqlite3
from dataclasses import dataclass

import pyarrow as pa

from penstock.language.keywords.tokenizer_options import TokenizerOptions
from penstock.workspace.database import Database
from penstock.workspace.index_versions import change_version, readable_tokenizer, write_version
from penstock.workspace.limits import CHANGED_ROWS_MIN
from penstock.workspace.stored_subscription import VERSION_COLUMNS, rows_to_table
from penstock.workspace.tokenizer_settings import read_tokenizer

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Pending:
    """The difference between the last version and the subscriptions, read in one transaction."""

    uri: str | None
    """The version to build on; ``None`` if a base version has to be written."""
    change: int
    """The number of the last change."""
    changed: list[str]
    """Subscriptions that changed since the version."""
    rows: pa.Table
    """Those of them that are active; for a base version, all active subscriptions."""
    tokenizer: TokenizerOptions
    """How keyword queries and documents are tokenized."""


class CurrentVersion:
    """Writes an index version whenever the subscriptions or the tokenizer have changed."""

    def __init__(self, database: Database, folder: str) -> None:
        self._database = database
        self._folder = folder

    def uri(self) -> str:
        """The URI of the current version. It is written first if subscriptions changed."""
        while True:
            pending = self._pending()
            if pending.uri is None:
                uri = write_version(self._folder, pending.rows, tokenizer=pending.tokenizer)
            elif pending.changed:
                uri = change_version(pending.uri, removed=pending.changed, added=pending.rows)
            else:
                return pending.uri
            logger.info("wrote index version %s: %d changed rows", uri, pending.rows.num_rows)
            if self._record(uri, pending.change):
                return uri

    def last(self) -> str | None:
        """The URI of the last version that was written; ``None`` if there is none."""
        with self._database.read_transaction() as connection:
            recorded = connection.execute("SELECT digest FROM version").fetchone()
        return None if recorded is None else f"{self._folder}/{recorded[0]}"

    def _pending(self) -> _Pending:
        with self._database.read_transaction() as connection:
            (last,) = connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'"
            ).fetchone()
            tokenizer = read_tokenizer(connection)
            recorded = connection.execute("SELECT digest, change FROM version").fetchone()
            if recorded is not None:
                uri = f"{self._folder}/{recorded[0]}"
                changed = [
                    name
                    for (name,) in connection.execute(
                        "SELECT DISTINCT subscription FROM changes WHERE number > ?",
                        (recorded[1],),
                    )
                ]
                if len(changed) <= CHANGED_ROWS_MIN and _verified_tokenizer(uri) == tokenizer:
                    rows = _active_rows(connection, recorded[1])
                    return _Pending(uri, last, changed, rows, tokenizer)
            return _Pending(None, last, [], _active_rows(connection, None), tokenizer)

    def _record(self, uri: str, change: int) -> bool:
        """Record a version unless a later one is recorded already; whether it was recorded."""
        digest = uri.rpartition("/")[2]
        with self._database.write_transaction() as connection:
            done = connection.execute(
                "INSERT INTO version (only, digest, change) VALUES (1, ?, ?)"
                " ON CONFLICT (only) DO UPDATE SET digest = excluded.digest,"
                " change = excluded.change WHERE excluded.change >= change",
                (digest, change),
            )
            connection.execute("DELETE FROM changes WHERE number <= ?", (change,))
            return done.rowcount > 0


def _active_rows(connection: sqlite3.Connection, after: int | None) -> pa.Table:
    """The active subscriptions; with ``after``, only those changed after that change."""
    condition = ""
    values: tuple[int, ...] = ()
    if after is not None:
        condition = "AND id IN (SELECT subscription FROM changes WHERE number > ?)"
        values = (after,)
    return rows_to_table(
        connection.execute(
            f"SELECT {VERSION_COLUMNS} FROM subscriptions WHERE NOT paused {condition} ORDER BY id",
            values,
        )
    )


_verified: dict[str, TokenizerOptions] = {}
"""The last version found readable, with its tokenizer options. Verifying it reads all files, so a
process does it once."""


def _verified_tokenizer(uri: str) -> TokenizerOptions | None:
    if uri not in _verified:
        tokenizer = readable_tokenizer(uri)
        if tokenizer is None:
            return None
        _verified.clear()
        _verified[uri] = tokenizer
    return _verified.get(uri)
