"""Imports and exports stored subscriptions as text lines, JSON Lines or CSV.

docs/reference/subscription-files.md describes the formats.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO, get_args

from penstock.cli import subscription_file
from penstock.cli.console import json_line
from penstock.cli.subscription_file import LineErrorHandler, bad_row, header_tests_of, kind_of
from penstock.errors import SubscriptionFileError
from penstock.workspace import StoredSubscription
from penstock.workspace.stored_subscription import RETURNS_BY_DEFAULT, Backfill

COLUMNS = (
    "id",
    "subscriber",
    "kind",
    "query",
    "namespaces",
    "default_namespace",
    "where",
    "returns",
    "fragments_max",
    "paused",
    "starts_at",
    "expires_at",
    "backfill",
)
"""The keys of a row; only ``query`` is required."""


_DIGITS_MAX = 18
"""Longer numbers are above every limit; Python refuses to convert very long ones."""


@dataclass(frozen=True, slots=True)
class Row:
    """A subscription with the position of its query in the file."""

    wanted: StoredSubscription
    line: int
    column: int


def read(path: Path, subscriber: str | None, on_error: LineErrorHandler) -> Iterator[Row]:
    """Reads the subscriptions of a file; calls ``on_error`` for each malformed line.

    A row without a subscriber belongs to ``subscriber`` or, if that is ``None``, to a subscriber
    named like the subscription's id.
    """
    if path.suffix == ".csv":
        rows = _csv_rows(path, on_error)
    elif path.suffix == ".jsonl":
        lines = subscription_file.numbered_lines(path, on_error)
        rows = subscription_file.json_objects(lines, on_error)
    else:
        for entry in subscription_file.read(path, on_error):
            wanted = entry.subscription
            yield Row(
                StoredSubscription(
                    id=wanted.id,
                    subscriber=subscriber or wanted.id,
                    kind=entry.kind,
                    query=wanted.query,
                    namespaces=wanted.namespaces,
                    default_namespace=wanted.default_namespace,
                    where=entry.where,
                    returns=RETURNS_BY_DEFAULT[entry.kind],
                ),
                entry.line,
                entry.column,
            )
        return
    for line, row in rows:
        try:
            wanted_ = _subscription(row, subscriber, line)
        except SubscriptionFileError as reason:
            on_error(reason)
            continue
        yield Row(wanted_, line, 1)


def as_dict(subscription: StoredSubscription) -> dict[str, Any]:
    """The JSON form of a subscription, without values that equal their defaults."""
    returns = subscription.returns
    row = {
        "id": subscription.id,
        "subscriber": subscription.subscriber,
        "kind": subscription.kind if subscription.kind != "xpath" else None,
        "query": subscription.query,
        "namespaces": dict(subscription.namespaces),
        "default_namespace": subscription.default_namespace,
        "where": dict(subscription.where),
        "returns": returns if returns != RETURNS_BY_DEFAULT[subscription.kind] else None,
        "fragments_max": subscription.fragments_max,
        "paused": subscription.paused,
        "starts_at": _iso_format(subscription.starts_at),
        "expires_at": _iso_format(subscription.expires_at),
        "backfill": subscription.backfill if subscription.backfill != "none" else None,
    }
    return {key: value for key, value in row.items() if value}


def write_json_lines(subscriptions: Iterator[StoredSubscription], to: TextIO) -> int:
    """Writes one JSON object per line; returns how many."""
    count = 0
    for subscription in subscriptions:
        to.write(json_line(as_dict(subscription)))
        count += 1
    return count


def write_csv(subscriptions: Iterator[StoredSubscription], to: TextIO) -> int:
    """Writes a header line and one row per subscription; returns the number of rows."""
    writer = csv.DictWriter(to, COLUMNS, lineterminator="\n")
    writer.writeheader()
    count = 0
    for subscription in subscriptions:
        row = as_dict(subscription)
        bindings = row.get("namespaces", {}).items()
        row["namespaces"] = " ".join(f"{prefix}={uri}" for prefix, uri in bindings)
        if subscription.where:
            row["where"] = json.dumps(dict(subscription.where), ensure_ascii=False)
        row["paused"] = "true" if subscription.paused else ""
        writer.writerow(row)
        count += 1
    return count


def _iso_format(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _csv_rows(path: Path, on_error: LineErrorHandler) -> Iterator[tuple[int, dict[str, Any]]]:
    lines = (f"{text}\n" for _, text in subscription_file.numbered_lines(path, on_error))
    reader = csv.DictReader(lines, strict=True)
    while True:
        try:
            row = next(reader, None)
        except csv.Error as fault:
            on_error(bad_row(f"invalid CSV: {fault}", reader.line_num))
            continue
        if row is None:
            return
        if None in row:
            on_error(bad_row("more fields than the header line has", reader.line_num))
            continue
        found: dict[str, Any] = {key: text for key, text in row.items() if text}
        if "namespaces" in found:
            parts = (binding.partition("=") for binding in found["namespaces"].split())
            found["namespaces"] = {prefix: uri for prefix, _, uri in parts}
        if "where" in found:
            try:
                found["where"] = json.loads(found["where"])
            except json.JSONDecodeError:
                on_error(bad_row("`where` must be a JSON object", reader.line_num))
                continue
        if "paused" in found:
            found["paused"] = {"true": True, "false": False}.get(found["paused"], found["paused"])
        yield reader.line_num, found


def _subscription(row: Mapping[str, Any], subscriber: str | None, line: int) -> StoredSubscription:
    unknown = set(row) - set(COLUMNS)
    if unknown:
        raise bad_row(f"unknown key `{min(unknown)}`", line)
    for key in set(COLUMNS) - {"namespaces", "paused", "where", "fragments_max"}:
        if row.get(key) is not None and not isinstance(row[key], str):
            raise bad_row(f"`{key}` must be a string", line)
    if not row.get("query"):
        raise bad_row("`query` is required", line)
    namespaces = row.get("namespaces") or {}
    if not isinstance(namespaces, dict) or not all(
        isinstance(uri, str) and uri for uri in namespaces.values()
    ):
        raise bad_row("`namespaces` must map prefixes to URIs", line)
    if not isinstance(row.get("paused", False), bool):
        raise bad_row("`paused` must be true or false", line)
    backfill: Any = row.get("backfill") or "none"
    if backfill not in get_args(Backfill):
        raise bad_row("`backfill` must be `none`, `wanted` or `done`", line)
    owner = row.get("subscriber") or subscriber or row.get("id")
    if not owner:
        raise bad_row("`subscriber` and `id` are both missing", line)
    kind = kind_of(row, line)
    return StoredSubscription(
        id=row.get("id") or "",
        subscriber=owner,
        kind=kind,
        query=row["query"],
        namespaces=namespaces,
        default_namespace=row.get("default_namespace"),
        where=header_tests_of(row, line),
        returns=row.get("returns") or RETURNS_BY_DEFAULT[kind],
        fragments_max=_fragments_max(row, line),
        paused=row.get("paused", False),
        starts_at=_time(row, "starts_at", line),
        expires_at=_time(row, "expires_at", line),
        backfill=backfill,
    )


def _fragments_max(row: Mapping[str, Any], line: int) -> int | None:
    value = row.get("fragments_max")
    if isinstance(value, str) and value.isascii() and value.isdigit():  # from CSV
        value = int(value[:_DIGITS_MAX])
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        raise bad_row("`fragments_max` must be a whole number", line)
    return value


def _time(row: Mapping[str, Any], key: str, line: int) -> datetime | None:
    if not row.get(key):
        return None
    try:
        time = datetime.fromisoformat(row[key])
    except ValueError:
        raise bad_row(
            f"`{row[key]}` is not a time such as 2026-05-01T12:00:00+00:00", line
        ) from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time
