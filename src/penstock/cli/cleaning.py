"""``penstock clean``: shows what may be removed, asks, and removes it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import typer
from rich.filesize import decimal
from rich.table import Table

from penstock.cli.console import ExitCode, note, print_json, print_table
from penstock.workspace import Workspace
from penstock.workspace.retention import Removal, removals


def run(folder: Path, *, keep_days: int, yes: bool, as_json: bool) -> ExitCode:
    """Removes what is older than so many days, once someone agreed."""
    with Workspace.open(folder) as workspace:
        found = removals(workspace, keep=timedelta(days=keep_days), now=datetime.now(UTC))
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
            _show(found)
        else:
            note("there is nothing to remove")
            return ExitCode.DONE
        # Whoever asks for JSON cannot answer.
        agreed = yes or (not as_json and typer.confirm("Remove this?", err=True))
        if agreed:
            for removal in found:
                removal.remove()
    if as_json:
        print_json({"type": "summary", "removed": agreed})
    else:
        note("removed" if agreed else "nothing was removed")
    return ExitCode.DONE


def _show(found: list[Removal]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right")
    table.add_column()
    table.add_column(justify="right")
    for removal in found:
        size = "" if removal.bytes is None else decimal(removal.bytes)
        table.add_row(f"{removal.count:,}", removal.what, size)
    print_table(table)
