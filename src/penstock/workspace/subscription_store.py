"""Who subscribes to what: the subscriptions of a workspace."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from penstock.errors import PenstockError, error
from penstock.workspace.database import Database
from penstock.workspace.limits import SUBSCRIPTIONS_AT_ONCE
from penstock.workspace.query_indexes import Indexes
from penstock.workspace.stored_subscription import COLUMNS, StoredSubscription, from_row, to_row
from penstock.workspace.timestamps import now, stored


@dataclass(slots=True)
class Added:
    """What became of subscriptions that were added together."""

    new: list[StoredSubscription] = field(default_factory=list)
    """Those that were added, with their names."""
    known: int = 0
    """How many were there already, word for word."""
    refused: dict[int, PenstockError] = field(default_factory=dict)
    """The others, by position, with the reason."""


class SubscriptionStore:
    """The subscriptions of a workspace, in its SQLite file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, subscription: StoredSubscription) -> StoredSubscription:
        """Add one subscription; where it is there already, word for word, nothing happens.

        Returns
        -------
        The subscription as it is stored, with its name.

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
        """Add subscriptions together; one that is refused does not keep the others out."""
        added = Added()
        sound = self._sound(subscriptions, added)
        with self._database.writing() as connection:
            names = _Names(connection)
            at = now()
            _insert_subscribers(connection, {subscriptions[one].subscriber for one in sound}, at)
            for position in sound:
                wanted = subscriptions[position]
                if not wanted.id:
                    wanted = replace(wanted, id=names.new(wanted.subscriber))
                made = replace(wanted, created_at=at)
                if _insert(connection, made):
                    added.new.append(made)
                elif _known(connection, wanted.id).asks_the_same_as(wanted):
                    added.known += 1
                else:
                    added.refused[position] = _taken(wanted.id)
        return added

    def _sound(self, subscriptions: Sequence[StoredSubscription], added: Added) -> list[int]:
        """The positions of those that may be stored; the others are refused."""
        sound: list[int] = []
        for position, wanted in enumerate(subscriptions):
            try:
                wanted.check()
            except PenstockError as reason:
                added.refused[position] = reason
                continue
            sound.append(position)
        # An index takes what a version will take, and says what is wrong with the rest.
        refused = Indexes().add(subscriptions[position].as_wanted(position) for position in sound)
        added.refused.update(refused)
        return [position for position in sound if position not in refused]

    def get(self, id: str) -> StoredSubscription:  # noqa: A002
        """A subscription by its name.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.reading() as connection:
            return _known(connection, id)

    def remove(self, ids: Collection[str]) -> None:
        """Remove subscriptions, all or none; what was delivered stays in the mailboxes.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.writing() as connection:
            for each in ids:
                _known(connection, each)
                connection.execute("DELETE FROM subscriptions WHERE id = ?", (each,))

    def set_paused(self, ids: Collection[str], paused: bool) -> None:
        """Pause or resume subscriptions, all or none.

        Raises
        ------
        UnknownSubscriptionError
            ``subscription.unknown``
        """
        with self._database.writing() as connection:
            for each in ids:
                if _known(connection, each).paused != paused:
                    connection.execute(
                        "UPDATE subscriptions SET paused = ? WHERE id = ?", (int(paused), each)
                    )

    def each(self, subscriber: str | None = None) -> Iterator[StoredSubscription]:
        """All subscriptions, or those of one subscriber, in the order of their names."""
        condition, values = "", []
        if subscriber is not None:
            condition, values = "AND subscriber = ?", [subscriber]
        last = ""
        while True:
            # Page by page: whoever goes through a million may change some meanwhile.
            with self._database.reading() as connection:
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
        with self._database.reading() as connection:
            rows = connection.execute(
                "SELECT id FROM subscriptions WHERE expires_at < ?", (stored(before),)
            ).fetchall()
        return [name for (name,) in rows]

    def subscriber_exists(self, name: str) -> bool:
        """Whether someone of that name has ever subscribed."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT 1 FROM subscribers WHERE name = ?", (name,))
            return found.fetchone() is not None

    def count(self) -> tuple[int, int]:
        """How many subscriptions there are, and how many of them are paused."""
        with self._database.reading() as connection:
            found = connection.execute("SELECT count(*), total(paused) FROM subscriptions")
            count, paused = found.fetchone()
            return int(count), int(paused)

    def __len__(self) -> int:
        with self._database.reading() as connection:
            (count,) = connection.execute("SELECT count(*) FROM subscriptions").fetchone()
            return int(count)

    def backfills_wanted(self) -> Sequence[StoredSubscription]:
        """The subscriptions that are still to be given the documents of the past, oldest first."""
        with self._database.reading() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM subscriptions WHERE backfill = 'wanted' AND NOT paused"
                " ORDER BY created_at, id"
            ).fetchall()
        return [from_row(row) for row in rows]

    def backfill_done(self, id: str) -> None:  # noqa: A002
        """Note that a subscription has been given the documents of the past."""
        with self._database.writing() as connection:
            connection.execute(
                "UPDATE subscriptions SET backfill = 'done' WHERE id = ? AND backfill = 'wanted'",
                (id,),
            )


class _Names:
    """New names for subscriptions, while others are kept from making any."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: Counter[str] = Counter()

    def new(self, subscriber: str) -> str:
        if subscriber not in self._last:
            (count,) = self._connection.execute(
                "SELECT count(*) FROM subscriptions WHERE subscriber = ?", (subscriber,)
            ).fetchone()
            self._last[subscriber] = count
        while True:
            self._last[subscriber] += 1
            name = f"{subscriber}-{self._last[subscriber]}"
            if _get(self._connection, name) is None:
                return name


def _insert_subscribers(
    connection: sqlite3.Connection, names: Collection[str], at: datetime
) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO subscribers (name, created_at) VALUES (?, ?)",
        [(name, stored(at)) for name in names],
    )


def _insert(connection: sqlite3.Connection, made: StoredSubscription) -> bool:
    """Whether the name was free."""
    places = ", ".join("?" * len(COLUMNS.split(",")))
    done = connection.execute(
        f"INSERT INTO subscriptions ({COLUMNS}) VALUES ({places}) ON CONFLICT (id) DO NOTHING",
        to_row(made),
    )
    return done.rowcount > 0


def _get(connection: sqlite3.Connection, name: str) -> StoredSubscription | None:
    row = connection.execute(
        f"SELECT {COLUMNS} FROM subscriptions WHERE id = ?", (name,)
    ).fetchone()
    return None if row is None else from_row(row)


def _known(connection: sqlite3.Connection, name: str) -> StoredSubscription:
    found = _get(connection, name)
    if found is None:
        raise error("subscription.unknown", f"there is no subscription `{name}`")
    return found


def _taken(name: str) -> PenstockError:
    return error("subscription.duplicate", f"there is another subscription `{name}` already")
