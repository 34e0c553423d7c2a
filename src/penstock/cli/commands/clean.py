"""``penstock clean``: lists what can be removed, asks, and removes it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.filesize import decimal
from rich.table import Table

from penstock.cli.console import note, print_json, print_table
from penstock.cli.options import JsonOption, WorkspaceOption

if TYPE_CHECKING:
    from penstock.workspace.retention import Removal
    from penstock.workspace.retention_policy import RetentionPolicy

DEFAULT_DAYS: Final = 30
"""Days that data is kept which the retention policy keeps forever."""

RETENTION_DAYS_MAX: Final = 36_500


def clean(
    *,
    workspace: WorkspaceOption = Path(),
    keep_days: Annotated[
        int | None,
        typer.Option(
            "--keep-days",
            min=0,
            max=RETENTION_DAYS_MAX,
            help="Keep the documents and deliveries of this many days (default: the retention"
            f" policy; what it keeps forever, {DEFAULT_DAYS} days).",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--force", "--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove old or unneeded data, after listing it and asking.

    Removes inbox files and index versions that nothing needs any more, and table rows older than
    the retention period. With --json, nothing is removed unless --force is given too.
    """
    from penstock.errors import WorkspaceError
    from penstock.workspace import Workspace
    from penstock.workspace.layout import WorkspaceLayout
    from penstock.workspace.retention import file_removals, removals

    now = datetime.now(UTC)
    try:
        with Workspace.open(workspace) as opened:
            policy = _policy(opened.retention.read(), keep_days)
            _clean(removals(opened, policy=policy, now=now), yes=yes, as_json=as_json)
    except WorkspaceError as failure:
        if failure.code != "workspace.full":
            raise
        note("the disk is full: only files can be removed; repeat the command to remove rows")
        layout = WorkspaceLayout(workspace.absolute())
        _clean(file_removals(layout, now=now), yes=yes, as_json=as_json)


def _policy(stored: RetentionPolicy, keep_days: int | None) -> RetentionPolicy:
    """The policy of the option; by default the stored one, which removes only what is listed."""
    if keep_days is not None:
        return stored.uniform(timedelta(days=keep_days))
    default = timedelta(days=DEFAULT_DAYS)
    ages = {kind: default if age is None else age for kind, age in stored.ages().items()}
    return replace(stored, **ages)


def _clean(found: list[Removal], *, yes: bool, as_json: bool) -> None:
    """List removals, ask, and remove."""
    if as_json:
        for removal in found:
            print_json(
                {
                    "type": "removal",
                    "what": removal.what,
                    "count": removal.count,
                    "bytes": removal.bytes,
                }
            )
    elif found:
        _print_text(found)
    else:
        note("there is nothing to remove")
        return
    # A caller that reads JSON cannot answer a prompt.
    agreed = yes or (not as_json and typer.confirm("Remove this?", err=True))
    if agreed:
        for removal in found:
            removal.remove()
    if as_json:
        print_json({"type": "summary", "removed": agreed})
    else:
        note("removed" if agreed else "nothing was removed")


def _print_text(found: list[Removal]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(justify="right")
    for removal in found:
        size = "" if removal.bytes is None else decimal(removal.bytes)
        table.add_row(f"{removal.count:,}", removal.what, size)
    print_table(table)
