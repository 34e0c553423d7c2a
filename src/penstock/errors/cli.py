"""Errors in subscription files."""

from __future__ import annotations

from penstock.errors.classes import ErrorSpec, SubscriptionFileError

ERRORS: dict[str, ErrorSpec] = {
    "subscription-file.encoding": ErrorSpec(
        SubscriptionFileError,
        "a subscription file is not UTF-8",
        "Save the file as UTF-8.",
    ),
    "subscription-file.line": ErrorSpec(
        SubscriptionFileError,
        "a line of a subscription file is malformed",
        "A line is an id, a tab and a query; in a .jsonl file, an object with `id` and `query`.",
    ),
    "subscription-file.directive": ErrorSpec(
        SubscriptionFileError,
        "a directive in a subscription file is unknown or incomplete",
        "Write `@namespace PREFIX=URI`, `@default-namespace URI`, `@kind keywords` or"
        " `@where FIELD=VALUE`.",
    ),
    "subscription-file.not-json": ErrorSpec(
        SubscriptionFileError,
        "a line of a .jsonl subscription file is not JSON",
        "Write one JSON object per line, or rename the file if it contains lines of text.",
    ),
}
