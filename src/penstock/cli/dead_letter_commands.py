"""The commands around dead letters: options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import A_FILE, JsonOption, WorkspaceOption

dead_letters_app = typer.Typer(
    name="dead-letters",
    no_args_is_help=True,
    help="Look at documents that were refused, and publish them once more.",
)

CodeOption = Annotated[
    str | None, typer.Option(metavar="CODE", help="Only those refused with this error code.")
]


@dead_letters_app.command("list")
def _list(
    *,
    workspace: WorkspaceOption = Path(),
    code: CodeOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also those that a replay has settled.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show dead letters, by number."""
    from penstock.cli import dead_letters

    raise typer.Exit(
        dead_letters.show_list(workspace, code=code, everything=everything, as_json=as_json)
    )


@dead_letters_app.command("show")
def _show(
    letter: Annotated[
        str,
        typer.Argument(help="Its number, or the document's identity.", show_default=False),
    ],
    *,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Show why a document was refused, where, and what was done about it."""
    from penstock.cli import dead_letters

    raise typer.Exit(dead_letters.show_one(workspace, letter, as_json=as_json))


@dead_letters_app.command("replay")
def _replay(
    letters: Annotated[
        list[str] | None,
        typer.Argument(metavar="[LETTER]...", help="Numbers or identities.", show_default=False),
    ] = None,
    *,
    workspace: WorkspaceOption = Path(),
    everything: Annotated[
        bool, typer.Option("--all", help="All that have not been replayed.")
    ] = False,
    code: CodeOption = None,
    fixed: Annotated[
        Path | None,
        typer.Option("--with", help="Publish this instead, as the same document.", **A_FILE),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(help="A mapping file to send along, in place of what was sent.", **A_FILE),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Publish dead letters once more, after a fix, with a fixed document or another mapping.

    Each keeps its identity and gets a new number. A dead letter is replayed once: what is refused
    again is a new dead letter.
    """
    from penstock.cli import dead_letters

    if bool(letters) + everything + (code is not None) != 1:
        raise typer.BadParameter("name dead letters, or give --all, or --code")
    if fixed is not None and len(letters or ()) != 1:
        raise typer.BadParameter("a fixed document is for one dead letter", param_hint="--with")
    raise typer.Exit(
        dead_letters.replay(
            workspace,
            letters or (),
            everything=everything,
            code=code,
            fixed=fixed,
            mapping=mapping,
            as_json=as_json,
        )
    )
