"""The index version of the subscriptions as they are now.

A trigger logs every change of a subscription. The version on record knows the last change that is
in it; what came later makes the next one. The log is cut behind it.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import pyarrow as pa

from penstock.workspace.database import Database
from penstock.workspace.index_versions import change_version, is_sound, write_version
from penstock.workspace.limits import CHANGED_ROWS_MIN
from penstock.workspace.stored_subscription import FOR_VERSIONS, to_table


@dataclass(frozen=True, slots=True)
class _Moment:
    """What there is to do, as one transaction saw it."""

    uri: str | None
    """The version on record; ``None`` where a whole one is to be written."""
    change: int
    """The last change that there is."""
    changed: list[str]
    """The subscriptions that changed since the version on record."""
    rows: pa.Table
    """Those of them that are live now; of a whole version, all that are."""


class VersionKeeper:
    """Keeps the version of the present subscriptions at hand."""

    def __init__(self, database: Database, folder: str) -> None:
        self._database = database
        self._folder = folder

    def current(self) -> str:
        """The URI of the version; it is written first where something changed."""
        while True:
            moment = self._moment()
            if moment.uri is None:
                uri = write_version(self._folder, moment.rows)
            elif moment.changed:
                uri = change_version(moment.uri, removed=moment.changed, added=moment.rows)
            else:
                return moment.uri
            if self._record(uri, moment.change):
                return uri

    def _moment(self) -> _Moment:
        with self._database.reading() as connection:
            (last,) = connection.execute(
                "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'changes'"
            ).fetchone()
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
                if len(changed) <= CHANGED_ROWS_MIN and _found_sound(uri):
                    return _Moment(uri, last, changed, _live(connection, recorded[1]))
            return _Moment(None, last, [], _live(connection, None))

    def _record(self, uri: str, change: int) -> bool:
        """Put a version on record, unless a later one is there already."""
        digest = uri.rpartition("/")[2]
        with self._database.writing() as connection:
            done = connection.execute(
                "INSERT INTO version (only, digest, change) VALUES (1, ?, ?)"
                " ON CONFLICT (only) DO UPDATE SET digest = excluded.digest,"
                " change = excluded.change WHERE excluded.change >= change",
                (digest, change),
            )
            connection.execute("DELETE FROM changes WHERE number <= ?", (change,))
            return done.rowcount > 0


def _live(connection: sqlite3.Connection, after: int | None) -> pa.Table:
    """The live subscriptions that changed after a change; without one, all of them."""
    among = ""
    values: tuple[int, ...] = ()
    if after is not None:
        among = "AND id IN (SELECT subscription FROM changes WHERE number > ?)"
        values = (after,)
    return to_table(
        connection.execute(
            f"SELECT {FOR_VERSIONS} FROM subscriptions WHERE NOT paused {among} ORDER BY id",
            values,
        )
    )


_found: list[str] = []
"""The version that was last found sound: looking reads its files, and once a process will do."""


def _found_sound(uri: str) -> bool:
    if uri not in _found and is_sound(uri):
        _found[:] = [uri]
    return uri in _found
