"""Errors of synchronisation."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, SyncError

ERRORS: dict[str, ErrorSpec] = {
    "sync.change": ErrorSpec(
        SyncError,
        "the description of a change is invalid",
        "Name at least one touched node; its label path begins with the name of the root.",
    ),
    "sync.too-many-subscriptions": ErrorSpec(
        SyncError,
        "an index of affected subscriptions has more subscriptions than the limit",
        "Remove subscriptions, or raise `subscriptions_max`.",
    ),
}
