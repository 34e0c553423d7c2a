"""``penstock router forget``: removes a neighbour."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, print_json
from penstock.cli.options import JsonOption, WorkspaceOption


def forget(
    neighbour: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the neighbour.", show_default=False)
    ],
    *,
    workspace: WorkspaceOption = Path(),
    force: ForceRemovalOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a former neighbour, with the documents that wait for it.

    The router must not be running. As long as a neighbour is known that never connects, documents
    are kept for it, and the other neighbours send this router everything.
    """
    from penstock.workspace import Workspace
    from penstock.workspace.router_store import LOCK, forget_neighbour

    with Workspace.open(workspace) as opened, opened.lock(LOCK, wait=False):
        what = f"the neighbour `{neighbour}` and the documents that wait for it"
        confirm_removal(what, force=force, as_json=as_json)
        forget_neighbour(opened.path, neighbour)
    if as_json:
        print_json({"type": "summary", "forgotten": neighbour})
    else:
        note(f"{neighbour} is forgotten")
