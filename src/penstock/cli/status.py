"""``penstock status``: how a workspace stands."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from penstock.cli.console import ExitCode, out, plural, print_json, print_table
from penstock.workspace import Workspace

MAILBOXES_MAX = 30
"""How many mailboxes are shown as text."""


def run(folder: Path, *, as_json: bool) -> ExitCode:
    """Shows what waits, what became of what came, and who got how much."""
    with Workspace.open(folder) as workspace:
        status = workspace.status()
    if as_json:
        print_json(asdict(status))
        return ExitCode.DONE
    console = out()
    paused = f" ({status.paused} paused)" if status.paused else ""
    console.print(f"{plural(status.subscriptions, 'subscription')}{paused}")
    if status.domains:
        versions = [f"{name} at version {version}" for name, version in status.domains.items()]
        console.print(
            f"{plural(len(versions), 'domain')}: {', '.join(versions)};"
            f" {plural(status.local_schemas, 'local schema')}"
        )
    console.print(
        f"{plural(status.documents, 'document')}: {status.matched} matched,"
        f" {status.unmatched} unmatched, {status.dead} dead; {status.waiting} waiting"
    )
    console.print(
        f"{plural(status.deliveries, 'delivery', 'deliveries')}"
        f" in {plural(len(status.mailboxes), 'mailbox', 'mailboxes')}"
    )
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column()
    rows.add_column(justify="right")
    for name, count in list(status.mailboxes.items())[:MAILBOXES_MAX]:
        rows.add_row(f"  {name}", str(count))
    print_table(rows)
    more = len(status.mailboxes) - MAILBOXES_MAX
    if more > 0:
        console.print(f"  and {more} more; --json shows all")
    return ExitCode.DONE
