"""Named cursors: how far each reader of a mailbox has acknowledged its deliveries.

A cursor is a commit position in SQLite. Acknowledging is durable when it returns. A reader that is
killed before it acknowledges gets the same deliveries again.
"""

from __future__ import annotations

from penstock.workspace.database import Database
from penstock.workspace.name_validation import validate_name
from penstock.workspace.timestamps import to_microseconds, utc_now


class CursorStore:
    """The cursors of all mailboxes of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def position(self, subscriber: str, name: str) -> int | None:
        """The acknowledged position; ``None`` if nothing was acknowledged yet."""
        validate_name("cursor", name)
        with self._database.read_transaction() as connection:
            row = connection.execute(
                "SELECT position FROM mailbox_cursors WHERE subscriber = ? AND name = ?",
                (subscriber, name),
            ).fetchone()
        return None if row is None else int(row[0])

    def acknowledge(self, subscriber: str, name: str, position: int) -> None:
        """Move a cursor forward to a position; it never moves back."""
        validate_name("cursor", name)
        with self._database.write_transaction() as connection:
            connection.execute(
                "INSERT INTO mailbox_cursors (subscriber, name, position, acknowledged_at)"
                " VALUES (?, ?, ?, ?) ON CONFLICT (subscriber, name) DO UPDATE"
                " SET position = excluded.position, acknowledged_at = excluded.acknowledged_at"
                " WHERE excluded.position > position",
                (subscriber, name, position, to_microseconds(utc_now())),
            )

    def delete(self, subscriber: str, name: str) -> None:
        """Delete a cursor: its next reader starts at the first delivery."""
        with self._database.write_transaction() as connection:
            connection.execute(
                "DELETE FROM mailbox_cursors WHERE subscriber = ? AND name = ?", (subscriber, name)
            )
