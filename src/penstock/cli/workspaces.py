"""``penstock init``: a new workspace."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import ExitCode, note, print_json
from penstock.workspace import Workspace


def init(folder: Path, *, as_json: bool) -> ExitCode:
    """Makes the workspace, and says what to do next."""
    with Workspace.create(folder) as workspace:
        if as_json:
            print_json({"workspace": str(workspace.path)})
        else:
            note(f"{folder} is a workspace now")
            note("next: penstock subscribe NAME QUERY, penstock publish FILES, penstock run")
    return ExitCode.DONE
