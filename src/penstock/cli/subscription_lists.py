"""``penstock subscriptions``: list, import, export."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from rich.progress import Progress
from rich.table import Table

from penstock.cli import subscription_rows
from penstock.cli.console import (
    ExitCode,
    err,
    error_as_dict,
    note,
    place_of,
    plural,
    print_json,
    print_table,
    show_error,
)
from penstock.cli.subscription_rows import Row, as_dict
from penstock.errors import PenstockError, QueryError, SubscriptionFileError
from penstock.workspace import StoredSubscription, Workspace
from penstock.workspace.atomic_files import writing
from penstock.workspace.limits import SUBSCRIPTIONS_AT_ONCE

SHOWN_REFUSALS_MAX = 100
"""How many refused lines are shown in full; ``--json`` shows them all."""


def show(folder: Path, *, subscriber: str | None, limit: int, as_json: bool) -> ExitCode:
    """A row a subscription, in the order of their names."""
    with Workspace.open(folder) as workspace:
        found = workspace.subscriptions.each(subscriber)
        if as_json:
            for each in found:
                print_json({**as_dict(each), "state": state_of(each)})
            return ExitCode.DONE
        table = Table(box=None, pad_edge=False)
        for column in ("id", "subscriber", "kind", "state"):
            table.add_column(column, no_wrap=True)
        table.add_column("query", overflow="fold")
        for each in islice(found, limit):
            table.add_row(each.id, each.subscriber, each.kind, state_of(each), each.query)
        if table.row_count:
            print_table(table)
        count = len(workspace.subscriptions)
    if subscriber is None and count > table.row_count:
        note(f"the first {table.row_count:,} of {count:,}; --limit shows more, export all")
    else:
        note(plural(table.row_count, "subscription"))
    return ExitCode.DONE


def state_of(subscription: StoredSubscription) -> str:
    """In a word or two: what a subscription is doing now."""
    now = datetime.now(UTC)
    if subscription.paused:
        return "paused"
    if subscription.expires_at is not None and subscription.expires_at <= now:
        return "expired"
    if subscription.starts_at is not None and subscription.starts_at > now:
        return f"starts {subscription.starts_at:%Y-%m-%d %H:%M}"
    return "backfill wanted" if subscription.backfill == "wanted" else "active"


def export(folder: Path, target: Path | None, *, as_json: bool) -> ExitCode:
    """Writes every subscription to a file, which appears whole or not at all, or to stdout."""
    with Workspace.open(folder) as workspace:
        found = workspace.subscriptions.each()
        if target is None:
            count = subscription_rows.write_json_lines(found, sys.stdout)
        else:
            write = (
                subscription_rows.write_csv
                if target.suffix == ".csv"
                else subscription_rows.write_json_lines
            )
            with writing(target) as file:
                text = io.TextIOWrapper(file, encoding="utf-8", newline="")
                count = write(found, text)
                text.detach()
    if not as_json:
        note(f"{plural(count, 'subscription')} written")
    elif target is not None:
        print_json({"subscriptions": count, "file": str(target)})
    return ExitCode.DONE


def bring_in(
    folder: Path, source: Path, *, subscriber: str | None, strict: bool, as_json: bool
) -> ExitCode:
    """Adds the subscriptions of a file; bad lines are told and do not keep the others out."""
    report = _Report(source, as_json=as_json)
    added = known = 0
    with Workspace.open(folder) as workspace:
        rows = subscription_rows.read(source, subscriber, report.line)
        for pack in _packs(rows, source):
            done = workspace.subscriptions.add_many([row.wanted for row in pack])
            added += len(done.new)
            known += done.known
            for position, reason in sorted(done.refused.items()):
                report.row(pack[position], reason)
    report.end()
    if as_json:
        print_json({"type": "summary", "added": added, "known": known, "refused": report.refused})
    else:
        told = f", {known:,} were there already" if known else ""
        note(f"{plural(added, 'subscription')} added{told}, {report.refused:,} refused")
    return ExitCode.REFUSED if strict and report.refused else ExitCode.DONE


def _packs(rows: Iterator[Row], source: Path) -> Iterator[list[Row]]:
    """The rows in packs that are added at once, with a bar while a terminal watches."""
    console = err()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(f"importing {source.name}", total=None)
        while pack := list(islice(rows, SUBSCRIPTIONS_AT_ONCE)):
            yield pack
            bar.update(task, description=f"{source.name}: line {pack[-1].line:,}")


class _Report:
    """Tells of refused lines, each at its place."""

    def __init__(self, source: Path, *, as_json: bool) -> None:
        self._source = source
        self._as_json = as_json
        self.refused = 0

    def line(self, reason: SubscriptionFileError) -> None:
        """A line that is no subscription."""
        self._tell(reason, place_of(self._source, reason), None, None)

    def row(self, row: Row, reason: PenstockError) -> None:
        """A subscription that the workspace would not take."""
        inside = 0
        if reason.where is not None and isinstance(reason, QueryError):
            inside = reason.where.column - 1
        place = f"{self._source}:{row.line}:{row.column + inside}"
        self._tell(reason, place, row.wanted.query, row.wanted.id)

    def end(self) -> None:
        """Says how many were not shown."""
        if self.refused > SHOWN_REFUSALS_MAX and not self._as_json:
            note(f"and {self.refused - SHOWN_REFUSALS_MAX:,} more lines were refused")

    def _tell(self, reason: PenstockError, place: str, source: str | None, id_: str | None) -> None:
        self.refused += 1
        if self._as_json:
            print_json(
                {
                    "type": "subscription",
                    "id": id_,
                    "place": place,
                    "error": error_as_dict(reason),
                }
            )
        elif self.refused <= SHOWN_REFUSALS_MAX:
            show_error(reason, place=place, source=source)
