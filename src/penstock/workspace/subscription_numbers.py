"""Numbers in the names of subscriptions, such as ``anna-7``: none is ever given out twice.

A delivery's id is a hash of document and subscription. If a removed subscription's name were given
to a new one, their deliveries could not be distinguished.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Final

_NAME: Final = re.compile(r"(?P<prefix>.*)-(?P<number>[1-9][0-9]{0,17})", re.DOTALL)
"""A name that may have been generated, with a number that fits into 64 bits."""


class NameGenerator:
    """Generates names within a write transaction."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._stored: dict[str, int] = {}
        self._used: dict[str, int] = {}

    def next(self, prefix: str) -> str:
        """A name that no subscription has or had."""
        if prefix not in self._stored:
            row = self._connection.execute(
                "SELECT last FROM subscription_numbers WHERE prefix = ?", (prefix,)
            ).fetchone()
            self._stored[prefix] = 0 if row is None else int(row[0])
        return f"{prefix}-{max(self._stored[prefix], self._used.get(prefix, 0)) + 1}"

    def record(self, name: str) -> None:
        """Note that a name is in use, whether generated or given by the caller."""
        _raise_number(self._used, name)

    def store(self) -> None:
        """Store the numbers that are in use."""
        _store(self._connection, self._used)


def record_numbers(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    """Store the numbers in these names."""
    used: dict[str, int] = {}
    for name in names:
        _raise_number(used, name)
    _store(connection, used)


def _raise_number(numbers: dict[str, int], name: str) -> None:
    found = _NAME.fullmatch(name)
    if found is not None:
        numbers[found["prefix"]] = max(numbers.get(found["prefix"], 0), int(found["number"]))


def _store(connection: sqlite3.Connection, numbers: Mapping[str, int]) -> None:
    connection.executemany(
        "INSERT INTO subscription_numbers (prefix, last) VALUES (?, ?)"
        " ON CONFLICT (prefix) DO UPDATE SET last = max(last, excluded.last)",
        numbers.items(),
    )
