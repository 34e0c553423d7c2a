"""``penstock subscriptions``: lists, imports and exports subscriptions."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import Progress
from rich.table import Table

from penstock.cli.console import (
    err,
    error_as_dict,
    note,
    place_of,
    plural,
    print_json,
    print_table,
    show_error,
)
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import EXISTING_FILE, JsonOption, StrictOption, WorkspaceOption
from penstock.errors import PenstockError, QueryError, SubscriptionFileError

if TYPE_CHECKING:
    from penstock.cli.subscription_rows import Row
    from penstock.workspace import StoredSubscription

SHOWN_ERRORS_MAX = 100
"""How many refused lines the text output of an import prints; ``--json`` prints all."""

subscriptions_app = typer.Typer(
    name="subscriptions", no_args_is_help=True, help="List, import or export subscriptions."
)


@subscriptions_app.command("list")
def list_subscriptions(
    *,
    workspace: WorkspaceOption = Path(),
    subscriber: Annotated[
        str | None, typer.Option(metavar="NAME", help="List only those of this subscriber.")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="List at most this many as text; JSON lists all.")
    ] = 1_000,
    as_json: JsonOption = False,
) -> None:
    """List subscriptions in the order of their ids, with their state."""
    from penstock.cli.subscription_rows import as_dict
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        found = opened.subscriptions.each(subscriber)
        if as_json:
            for each in found:
                print_json({**as_dict(each), "state": _state(each)})
            return
        table = Table(box=None, pad_edge=False)
        for column in ("id", "subscriber", "kind", "state"):
            table.add_column(column, no_wrap=True)
        shown = list(islice(found, limit))
        has_tests = any(each.where for each in shown)
        if has_tests:
            table.add_column("where", overflow="fold")
        table.add_column("query", overflow="fold")
        for each in shown:
            tests = ", ".join(f"{name}={value}" for name, value in sorted(each.where.items()))
            extra = [tests] if has_tests else []
            table.add_row(each.id, each.subscriber, each.kind, _state(each), *extra, each.query)
        if table.row_count:
            print_table(table, fit=False)
        count = len(opened.subscriptions)
    if subscriber is None and count > table.row_count:
        note(f"the first {table.row_count:,} of {count:,}; use --limit or export to see more")
    else:
        note(plural(table.row_count, "subscription"))


def _state(subscription: StoredSubscription) -> str:
    now = datetime.now(UTC)
    if subscription.paused:
        return "paused"
    if subscription.expires_at is not None and subscription.expires_at <= now:
        return "expired"
    if subscription.starts_at is not None and subscription.starts_at > now:
        return f"starts {subscription.starts_at:%Y-%m-%d %H:%M}"
    return "backfill wanted" if subscription.backfill == "wanted" else "active"


@subscriptions_app.command("import")
def import_subscriptions(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A subscription file: lines of text, .jsonl or .csv.",
            show_default=False,
            **EXISTING_FILE,
        ),
    ],
    *,
    workspace: WorkspaceOption = Path(),
    subscriber: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Subscriber of the lines that do not name one."),
    ] = None,
    strict: StrictOption = False,
    as_json: JsonOption = False,
) -> None:
    """Add the subscriptions in a file.

    Refused lines are reported with their position; the other lines are imported. Importing the
    same file again adds nothing. If neither a line nor --subscriber names a subscriber, the
    subscription's id is used as the subscriber's name.
    """
    from penstock.cli import subscription_rows
    from penstock.cli.never_matching import NeverMatchingCheck
    from penstock.workspace import Workspace

    report = _ErrorReport(source, as_json=as_json)
    check = NeverMatchingCheck()
    added = known = 0
    with Workspace.open(workspace) as opened:
        rows = subscription_rows.read(source, subscriber, report.line)
        for batch in _batches(rows, source):
            done = opened.subscriptions.add_many([row.wanted for row in batch])
            added += len(done.new)
            known += done.known
            for position, row in enumerate(batch):
                if position in done.refused:
                    report.row(row, done.refused[position])
                    continue
                if row.wanted.kind == "keywords":
                    continue  # keywords can always match
                reason = check.reason(row.wanted.subscription)
                if reason is not None:
                    report.never_matches(row, reason)
    report.end()
    if as_json:
        unchecked = {"unchecked": check.skipped} if check.skipped else {}
        counts = {"added": added, "known": known, "refused": report.refused}
        print_json({"type": "summary", **counts, **unchecked})
    else:
        if check.skipped:
            note(check.skipped_note())
        already = f", {known:,} already known" if known else ""
        note(f"{plural(added, 'subscription')} added{already}, {report.refused:,} refused")
    if strict and report.refused:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


def _batches(rows: Iterator[Row], source: Path) -> Iterator[list[Row]]:
    """Groups rows into transactions, with a progress bar if stderr is a terminal."""
    from penstock.workspace.limits import SUBSCRIPTIONS_AT_ONCE

    console = err()
    with Progress(console=console, transient=True, disable=not console.is_terminal) as bar:
        name = escape(source.name)  # the description is markup
        task = bar.add_task(f"importing {name}", total=None)
        while batch := list(islice(rows, SUBSCRIPTIONS_AT_ONCE)):
            yield batch
            bar.update(task, description=f"{name}: line {batch[-1].line:,}")


class _ErrorReport:
    """Reports refused and never-matching lines with their positions, and counts them."""

    def __init__(self, source: Path, *, as_json: bool) -> None:
        self._source = source
        self._as_json = as_json
        self.refused = 0
        self._never_matching = 0

    def line(self, reason: SubscriptionFileError) -> None:
        """Reports a malformed line."""
        self._print(reason, place_of(self._source, reason), None, None)

    def row(self, row: Row, reason: PenstockError) -> None:
        """Reports a subscription that the workspace refused."""
        offset = 0
        if reason.where is not None and isinstance(reason, QueryError):
            offset = reason.where.column - 1
        place = f"{self._source}:{row.line}:{row.column + offset}"
        self._print(reason, place, row.wanted.query, row.wanted.id)

    def never_matches(self, row: Row, reason: str) -> None:
        """Reports a subscription that was added but can never match."""
        place = f"{self._source}:{row.line}:{row.column}"
        self._never_matching += 1
        if self._as_json:
            print_json(
                {
                    "type": "subscription",
                    "id": row.wanted.id,
                    "place": place,
                    "never_matches": reason,
                }
            )
        elif self._never_matching <= SHOWN_ERRORS_MAX:
            named = row.wanted.id or "this subscription"
            note(f"note: {place}: {named} never matches: {reason}")

    def end(self) -> None:
        """Reports how many lines were not printed."""
        for count, what in (
            (self.refused, "were refused"),
            (self._never_matching, "never match"),
        ):
            if count > SHOWN_ERRORS_MAX and not self._as_json:
                note(f"and {count - SHOWN_ERRORS_MAX:,} more lines {what}")

    def _print(
        self, reason: PenstockError, place: str, source: str | None, id_: str | None
    ) -> None:
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
        elif self.refused <= SHOWN_ERRORS_MAX:
            show_error(reason, place=place, source=source)


@subscriptions_app.command("export")
def export(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help=".jsonl or .csv (default: JSON Lines on stdout).", dir_okay=False
        ),
    ] = None,
    *,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Write all subscriptions in a format that `import` reads.

    The file is replaced atomically.
    """
    from penstock.cli.subscription_rows import write_csv, write_json_lines
    from penstock.workspace import Workspace
    from penstock.workspace.atomic_files import atomic_write

    with Workspace.open(workspace) as opened:
        found = opened.subscriptions.each()
        if target is None:
            count = write_json_lines(found, sys.stdout)
        else:
            write = write_csv if target.suffix == ".csv" else write_json_lines
            with atomic_write(target) as file:
                text = io.TextIOWrapper(file, encoding="utf-8", newline="")
                count = write(found, text)
                text.detach()
    if not as_json:
        note(f"{plural(count, 'subscription')} written")
    elif target is not None:
        print_json({"subscriptions": count, "file": str(target)})
