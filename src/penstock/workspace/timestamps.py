"""Timestamps as SQLite stores them: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def utc_now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


def to_microseconds(time: datetime | None) -> int | None:
    """A time as SQLite stores it.

    >>> to_microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return None if time is None else (time - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int | None) -> datetime | None:
    """A time that SQLite stored."""
    return None if microseconds is None else _EPOCH + microseconds * _MICROSECOND
