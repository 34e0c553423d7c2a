"""Reports a change to several subscriptions."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.cli.console import note, plural, print_json


def print_change(ids: Sequence[str], change: str, *, as_json: bool) -> None:
    """Prints which subscriptions were changed; ``change`` is a past participle."""
    if as_json:
        print_json({change: list(ids)})
    else:
        note(f"{plural(len(ids), 'subscription')} {change}")
