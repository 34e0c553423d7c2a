"""``penstock clean``: lists what can be removed, asks, and removes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.filesize import decimal
from rich.table import Table

from penstock.cli.console import note, print_json, print_table
from penstock.cli.options import JsonOption, WorkspaceOption

if TYPE_CHECKING:
    from penstock.workspace.retention import Removal


def clean(
    *,
    workspace: WorkspaceOption = Path(),
    keep_days: Annotated[
        int,
        typer.Option(
            "--keep-days", min=0, help="Keep the documents and deliveries of this many days."
        ),
    ] = 30,
    yes: Annotated[bool, typer.Option("--force", "--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove old or unneeded data, after listing it and asking.

    Removes inbox files and index versions that nothing needs any more, and table rows older than
    the retention period. With --json, nothing is removed unless --force is given too.
    """
    from penstock.workspace import Workspace
    from penstock.workspace.retention import removals

    with Workspace.open(workspace) as opened:
        found = removals(opened, keep=timedelta(days=keep_days), now=datetime.now(UTC))
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
