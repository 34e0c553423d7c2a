"""``penstock inbox``: restores documents of damaged inbox files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, plural, print_json
from penstock.cli.options import EXISTING_FILE, JsonOption, WorkspaceOption

inbox_app = typer.Typer(
    name="inbox",
    no_args_is_help=True,
    help="Restore documents whose inbox file was damaged.",
)


@inbox_app.callback()
def inbox() -> None:
    """Restore documents whose inbox file was damaged."""


@inbox_app.command("restore")
def restore(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="Undamaged copies of inbox files, for example from a backup.",
            show_default=False,
            **EXISTING_FILE,
        ),
    ],
    *,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Publish damaged documents again, from undamaged copies of their inbox files.

    `penstock status` lists the damaged files, which are kept in the folder `damaged` of the
    workspace. Documents that were published again since are not published twice.
    """
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        restored = sum(opened.inbox.restore(path) for path in files)
        waiting = sum(each.documents for each in opened.inbox.damaged())
    if as_json:
        print_json({"type": "summary", "restored": restored, "damaged": waiting})
        return
    rest = f"; {plural(waiting, 'document')} still damaged" if waiting else ""
    note(f"{plural(restored, 'document')} restored{rest}")
