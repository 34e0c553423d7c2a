"""``penstock sync log``: what happened in a clone."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import print_json, print_line
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption


def log(*, folder: CloneOption = Path(), as_json: JsonOption = False) -> None:
    """Show what happened in the clone, oldest first: edits, versions, reports. Needs no server."""
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        events = directory.log()
    for each in events:
        if as_json:
            print_json({"type": "event", "at": each.at, "kind": each.kind, "text": each.text})
        else:
            first, *rest = each.text.split("\n")
            print_line(f"{each.at}  {each.kind:<12} {first}")
            for line in rest:
                print_line(f"{'':<41}{line}")
