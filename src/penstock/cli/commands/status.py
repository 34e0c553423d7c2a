"""``penstock status``: summarizes the state of a workspace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from penstock.cli.console import out, plural, print_json, print_table
from penstock.cli.options import JsonOption, WorkspaceOption

if TYPE_CHECKING:
    from penstock.workspace.inbox import DamagedDocuments
    from penstock.workspace.status import SetAside, Strays

MAILBOXES_MAX = 30
"""How many mailboxes the text output lists."""

DAMAGED_MAX = 10
"""How many damaged inbox files the text output lists."""

STRAYS_MAX = 10
"""How many schemas with unknown elements the text output lists."""

SET_ASIDE_MAX = 10
"""How many subscriptions that were set aside the text output lists."""


def status(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show waiting and processed documents, and the number of deliveries per mailbox."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace, read_only=True) as opened:
        found = opened.status()
    if as_json:
        print_json(asdict(found))
        return
    console = out()
    paused = f" ({found.paused:,} paused)" if found.paused else ""
    console.print(f"{plural(found.subscriptions, 'subscription')}{paused}")
    if found.domains:
        versions = [f"{name} at version {version}" for name, version in found.domains.items()]
        console.print(
            f"{plural(len(versions), 'domain')}: {', '.join(versions)};"
            f" {plural(found.local_schemas, 'local schema')}"
        )
    console.print(
        f"{plural(found.documents, 'document')}: {found.matched:,} matched,"
        f" {found.unmatched:,} unmatched, {found.dead:,} dead; {found.waiting:,} waiting"
    )
    _print_damaged(found.damaged)
    _print_strays(found.strays)
    _print_set_aside(found.set_aside)
    if found.fragments_omitted:
        console.print(
            f"  {plural(found.fragments_omitted, 'fragment')} omitted from deliveries:"
            " see penstock subscribe --fragments-max",
            soft_wrap=True,
        )
    console.print(
        f"{plural(found.deliveries, 'delivery', 'deliveries')}"
        f" in {plural(len(found.mailboxes), 'mailbox', 'mailboxes')}"
    )
    rows = Table(box=None, show_header=False, pad_edge=False)
    rows.add_column()
    rows.add_column(justify="right")
    for name, count in list(found.mailboxes.items())[:MAILBOXES_MAX]:
        rows.add_row(f"  {name}", f"{count:,}")
    print_table(rows, fit=False)
    more = len(found.mailboxes) - MAILBOXES_MAX
    if more > 0:
        console.print(f"  and {more:,} more; --json lists all")


def _print_damaged(damaged: Sequence[DamagedDocuments]) -> None:
    """Lists damaged inbox files."""
    for each in damaged[:DAMAGED_MAX]:
        out().print(f"  {damage_line(each)}", soft_wrap=True)
    if len(damaged) > DAMAGED_MAX:
        out().print(f"  and {len(damaged) - DAMAGED_MAX} more; --json lists all")


def damage_line(damaged: DamagedDocuments) -> str:
    """A line about damaged documents."""
    where = f"damaged/{damaged.file}" if damaged.file else "a missing inbox file"
    return (
        f"damaged: {where}: {damaged.reason}; {plural(damaged.documents, 'document')} waiting"
        f" ({damaged.first} to {damaged.last}), see `penstock inbox restore`"
    )


def _print_set_aside(set_aside: Sequence[SetAside]) -> None:
    """Lists subscriptions that were too expensive to match against some documents."""
    console = out()
    for each in set_aside[:SET_ASIDE_MAX]:
        console.print(
            f"  subscription {each.subscription} was set aside for"
            f" {plural(each.documents, 'document')}: too much work (limit.work)",
            soft_wrap=True,
        )
    if len(set_aside) > SET_ASIDE_MAX:
        console.print(f"  and {len(set_aside) - SET_ASIDE_MAX} more; --json lists all")


def _print_strays(strays: Sequence[Strays]) -> None:
    """Lists publishers whose documents have elements that are not in their local schema."""
    console = out()
    for each in strays[:STRAYS_MAX]:
        schema = f"schema {each.schema}" if each.schema else "the mapping they carry"
        console.print(
            f"  {plural(each.documents, 'document')} from {each.publisher}:"
            f" {plural(each.elements, 'element')} not in {schema}",
            soft_wrap=True,
        )
    if len(strays) > STRAYS_MAX:
        console.print(f"  and {len(strays) - STRAYS_MAX} more schemas; --json lists all")
