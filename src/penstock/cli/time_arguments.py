"""Parses points in time given on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

_OFFSET_FROM_NOW = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def parse_time(text: str | None, option: str) -> datetime | None:
    """Parses an ISO 8601 time, by default in UTC, or an offset from now such as ``7d``."""
    if text is None:
        return None
    from_now = _OFFSET_FROM_NOW.fullmatch(text)
    if from_now is not None:
        return datetime.now(UTC) + timedelta(**{_UNITS[from_now[2]]: int(from_now[1])})
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is not a time: use 2026-05-01T12:00, or 90m, 12h or 7d from now",
            param_hint=option,
        ) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
