"""The subscriptions of a workspace, in SQLite."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.errors import PenstockError, error
from penstock.matching.query_indexes import QueryIndexes
from penstock.workspace.database import Database
from penstock.workspace.limits import SUBSCRIPTIONS_AT_ONCE
from penstock.workspace.stored_subscription import COLUMNS, StoredSubscription, from_row, to_row
from penstock.workspace.subscription_numbers import NameGenerator
from penstock.workspace.timestamps import to_microseconds, utc_now
from penstock.workspace.tokenizer_settings import read_tokenizer


@dataclass(slots=True)
class Added:
    """The result of adding several subscriptions."""

    new: list[StoredSubscription] = field(default_factory=list)
    """The added subscriptions, with their names."""
    known: int = 0
    """Number of subscriptions that existed already, with the same request."""
    refused: dict[int, PenstockError] = field(default_factory=dict)
    """Errors of refused subscriptions, by position."""


class SubscriptionStore:
    """The stored subscriptions of a workspace."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, subscription: StoredSubscription) -> StoredSubscription:
        """Add a subscription. If it exists with the same request, nothing changes.

        Returns
        -------
        The stored subscription, with its name.

        Raises
        ------
        QueryError
            The query is refused, or ``subscription.duplicate``: the name is taken.
        WorkspaceError
            ``workspace.name``, ``subscription.kind``, ``subscription.returns`` or
            ``subscription.times``.
        """
        added = self.add_many([subscription])
        for reason in added.refused.values():
            raise reason
        return added.new[0] if added.new else self.get(subscription.id)

    def add_many(self, subscriptions: Sequence[StoredSubscription]) -> Added:
        """Add subscriptions in one transaction; refused ones do not affect the others."""
        added = Added()
        valid = self._validate(subscriptions, added)
        with self._database.write_transaction() as connection:
            names = NameGenerator(connection)
            at = utc_now()
            _insert_subscribers(connection, {subscriptions[one].subscriber for one in valid}, at)
            for position in valid:
                subscription = replace(subscriptions[position], created_at=at)
                if not subscription.id:
                    name = names.next(subscription.subscriber)
                    subscription = replace(subscription, id=name)
                if _insert(connection, subscription):
                    added.new.append(subscription)
                    names.record(subscription.id)
                elif _require(connection, subscription.id).is_equivalent_to(subscription):
                    added.known += 1
                else:
                    added.refused[position] = _duplicate(subscription.id)
            names.store()
        return added

    def _validate(self, subscriptions: Sequence[StoredSubscription], added: Added) -> list[int]:
        """The positions of valid subscriptions; the others are added to ``added.refused``."""
        valid: list[int] = []
        for position, subscription in enumerate(subscriptions):
            try:
                subscription.validate()
            except PenstockError as reason:
                added.refused[position] = reason
                continue
            valid.append(position)
        # An index accepts exactly the queries that an index version will accept.
        with self._database.read_transaction() as connection:
            tokenizer = read_tokenizer(connection)
        refused = QueryIndexes(tokenizer).add(
            subscriptions[position].numbered_query(position) for position in valid
        )
        added.refused.update(refused)
        return [position for position in valid if position not in refused]

    def get(self, id: str) -> StoredSubscription:  # noqa: A002
        """A subscription by its name.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.read_transaction() as connection:
            return _require(connection, id)

    def remove(self, ids: Collection[str]) -> None:
        """Remove subscriptions, all or none. Past deliveries stay in the mailboxes.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.write_transaction() as connection:
            for each in ids:
                _require(connection, each)
                connection.execute("DELETE FROM subscriptions WHERE id = ?", (each,))

    def set_paused(self, ids: Collection[str], paused: bool) -> None:
        """Pause or resume subscriptions, all or none.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.write_transaction() as connection:
            for each in ids:
                if _require(connection, each).paused != paused:
                    connection.execute(
                        "UPDATE subscriptions SET paused = ? WHERE id = ?", (int(paused), each)
                    )

    def each(self, subscriber: str | None = None) -> Iterator[StoredSubscription]:
        """All subscriptions, or those of one subscriber, sorted by name."""
        condition, values = "", []
        if subscriber is not None:
            condition, values = "AND subscriber = ?", [subscriber]
        last = ""
        while True:
            # One transaction per page, so that the caller can change subscriptions while iterating.
            with self._database.read_transaction() as connection:
                page = connection.execute(
                    f"SELECT {COLUMNS} FROM subscriptions WHERE id > ? {condition}"
                    f" ORDER BY id LIMIT {SUBSCRIPTIONS_AT_ONCE}",
                    (last, *values),
                ).fetchall()
            for row in page:
                yield from_row(row)
            if len(page) < SUBSCRIPTIONS_AT_ONCE:
                return
            last = page[-1][0]

    def expired(self, before: datetime) -> Sequence[str]:
        """The names of subscriptions that expired before a time."""
        with self._database.read_transaction() as connection:
            rows = connection.execute(
                "SELECT id FROM subscriptions WHERE expires_at < ?", (to_microseconds(before),)
            ).fetchall()
        return [name for (name,) in rows]

    def subscriber_exists(self, name: str) -> bool:
        """Whether a subscriber has ever had a subscription."""
        with self._database.read_transaction() as connection:
            found = connection.execute("SELECT 1 FROM subscribers WHERE name = ?", (name,))
            return found.fetchone() is not None

    def count(self) -> tuple[int, int]:
        """The number of subscriptions, and how many of them are paused."""
        with self._database.read_transaction() as connection:
            found = connection.execute("SELECT count(*), total(paused) FROM subscriptions")
            count, paused = found.fetchone()
            return int(count), int(paused)

    def __len__(self) -> int:
        with self._database.read_transaction() as connection:
            (count,) = connection.execute("SELECT count(*) FROM subscriptions").fetchone()
            return int(count)

    def backfills_wanted(self) -> Sequence[StoredSubscription]:
        """Subscriptions whose backfill is pending, oldest first; not paused ones."""
        with self._database.read_transaction() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM subscriptions WHERE backfill = 'wanted' AND NOT paused"
                " ORDER BY created_at, id"
            ).fetchall()
        return [from_row(row) for row in rows]

    def backfill_done(self, id: str) -> None:  # noqa: A002
        """Record that a subscription's backfill is complete."""
        with self._database.write_transaction() as connection:
            connection.execute(
                "UPDATE subscriptions SET backfill = 'done' WHERE id = ? AND backfill = 'wanted'",
                (id,),
            )


def _insert_subscribers(
    connection: sqlite3.Connection, names: Collection[str], at: datetime
) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO subscribers (name, created_at) VALUES (?, ?)",
        [(name, to_microseconds(at)) for name in names],
    )


def _insert(connection: sqlite3.Connection, subscription: StoredSubscription) -> bool:
    """Insert a subscription unless its name exists; whether it was inserted."""
    placeholders = ", ".join("?" * len(COLUMNS.split(",")))
    done = connection.execute(
        f"INSERT INTO subscriptions ({COLUMNS}) VALUES ({placeholders})"
        " ON CONFLICT (id) DO NOTHING",
        to_row(subscription),
    )
    return done.rowcount > 0


def _get(connection: sqlite3.Connection, name: str) -> StoredSubscription | None:
    row = connection.execute(
        f"SELECT {COLUMNS} FROM subscriptions WHERE id = ?", (name,)
    ).fetchone()
    return None if row is None else from_row(row)


def _require(connection: sqlite3.Connection, name: str) -> StoredSubscription:
    found = _get(connection, name)
    if found is None:
        raise error("subscription.unknown", f"there is no subscription `{name}`")
    return found


def _duplicate(name: str) -> PenstockError:
    return error("subscription.duplicate", f"there is already another subscription `{name}`")
