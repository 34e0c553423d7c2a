"""``penstock status``: how a workspace stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from rich.table import Table

from penstock.cli.console import ExitCode, out, plural, print_json, print_table
from penstock.workspace import Workspace
from penstock.workspace.status import Strays

MAILBOXES_MAX = 30
"""How many mailboxes are shown as text."""

STRAYS_MAX = 10
"""How many schemas that documents have left are shown as text."""


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
    _show_strays(status.strays)
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


def _show_strays(strays: Sequence[Strays]) -> None:
    """Whose documents have elements that no mapping can speak of: they pass unchanged."""
    console = out()
    for each in strays[:STRAYS_MAX]:
        schema = f"schema {each.schema}" if each.schema else "the mapping that they carry"
        console.print(
            f"  {plural(each.documents, 'document')} of {each.publisher}:"
            f" {plural(each.elements, 'element')} that {schema} does not have",
            soft_wrap=True,
        )
    if len(strays) > STRAYS_MAX:
        console.print(f"  and of {len(strays) - STRAYS_MAX} more schemas; --json shows all")
