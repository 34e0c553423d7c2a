"""Times as they are stored: microseconds since 1970 in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def now() -> datetime:
    """The present time, in UTC."""
    return datetime.now(UTC)


def stored(time: datetime | None) -> int | None:
    """A time as SQLite holds it.

    >>> stored(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
    1000000
    """
    return None if time is None else (time - _EPOCH) // _MICROSECOND


def loaded(microseconds: int | None) -> datetime | None:
    """The time that SQLite holds."""
    return None if microseconds is None else _EPOCH + microseconds * _MICROSECOND
