"""``penstock router status``: shows the router of a workspace."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from penstock.cli.console import plural, print_json, print_line, print_table
from penstock.cli.options import JsonOption, WorkspaceOption


def status(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show the router of a workspace: neighbours, queues, interests and counters."""
    from penstock.service.router.status import read_status
    from penstock.workspace import Workspace

    with Workspace.open(workspace, read_only=True) as opened:
        found = read_status(opened)
    if as_json:
        print_json({"type": "router", **found})
        return
    state = "running" if found["running"] else "not running"
    print_line(f"router {found['name']}: {state}, {found['address']}, as of {found['at']}")
    table = Table(box=None, pad_edge=False)
    for column in ("neighbour", "link", "authenticated"):
        table.add_column(column)
    for column in ("interest", "patterns", "waiting", "unacknowledged"):
        table.add_column(column, justify="right")
    for name, each in found["neighbours"].items():
        table.add_row(
            name,
            _link_state(each, is_running=found["running"]),
            "yes" if each["authenticated"] else "no",
            each["status"],
            f"{each['patterns']:,}",
            f"{each['waiting']:,}",
            f"{each['unacknowledged']:,}",
        )
    if found["neighbours"]:
        print_table(table, fit=False)
    for name, each in found["neighbours"].items():
        if each["last_error"]:
            print_line(f"neighbour {name}: {each['last_error']}")
    print_line(f"subscriptions: {found['subscriptions']:,}")
    for name, waiting in found["subscribers"].items():
        print_line(f"deliveries that wait for {name}: {waiting:,}")
    for name, count in found["counters"].items():
        print_line(f"{name.replace('_', ' ')}: {count:,}")
    for each in found.get("set_aside", ()):
        documents = plural(each["documents"], "document")
        print_line(
            f"subscription {each['subscription']} of {each['subscriber']} was set aside for"
            f" {documents}, whose work budget was spent [limit.work]"
        )


def _link_state(neighbour: Mapping[str, Any], *, is_running: bool) -> str:
    if not is_running:
        return "down"
    if neighbour["distrusted"]:
        return "cut off"
    return "up" if neighbour["connected"] else "down"
