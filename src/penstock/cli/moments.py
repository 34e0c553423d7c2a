"""Points in time as people write them on the command line."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import typer

_FROM_NOW = re.compile(r"(\d{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def moment(text: str | None, option: str) -> datetime | None:
    """``2026-05-01T12:00+02:00``, UTC where no zone is said, or ``7d`` from now."""
    if text is None:
        return None
    from_now = _FROM_NOW.fullmatch(text)
    if from_now is not None:
        return datetime.now(UTC) + timedelta(**{_UNITS[from_now[2]]: int(from_now[1])})
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is no time: write 2026-05-01T12:00, or 90m, 12h, 7d from now",
            param_hint=option,
        ) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
