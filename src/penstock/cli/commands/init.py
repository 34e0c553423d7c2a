"""``penstock init``: creates a workspace."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, print_json
from penstock.cli.options import JsonOption


def init(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="DIR", help="Folder to use; it may contain other files.", file_okay=False
        ),
    ] = Path(),
    *,
    as_json: JsonOption = False,
) -> None:
    """Create a workspace: a folder for subscriptions, documents and deliveries."""
    from penstock.workspace import Workspace

    with Workspace.create(folder) as workspace:
        if as_json:
            print_json({"workspace": str(workspace.path)})
        else:
            note(f"created a workspace in {folder}")
            where = "" if folder == Path() else f", each with `-w {folder}`"
            note(
                f"next: penstock subscribe NAME QUERY, penstock publish FILES, penstock run{where}"
            )
