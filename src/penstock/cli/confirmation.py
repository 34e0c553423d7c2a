"""Asks before something is removed, unless ``--force`` is given."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from penstock.cli.terminal_text import visible

ForceRemovalOption = Annotated[bool, typer.Option("--force", help="Remove without asking.")]


def confirm_removal(what: str, *, force: bool, as_json: bool) -> None:
    """Asks whether to remove ``what``, and ends the command unless the answer is yes.

    Without a terminal, or with ``--json``, nobody can answer: the command line is rejected.
    """
    if force:
        return
    if as_json or not sys.stdin.isatty():
        raise typer.BadParameter(
            f"removing {what} needs --force if there is no terminal to ask at",
            param_hint="--force",
        )
    typer.confirm(visible(f"Remove {what}?"), err=True, abort=True)
