"""``penstock tokenizer``: shows and sets how a workspace tokenizes keywords."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from penstock.cli.console import out, print_json
from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.tokenizer_arguments import (
    FoldDiacriticsOption,
    SplitNamesOption,
    UnifyAbbreviationsOption,
    UnifyApostrophesOption,
    chosen_tokenizer,
)

if TYPE_CHECKING:
    from penstock.language import TokenizerOptions

tokenizer_app = typer.Typer(
    help="Show or set which spellings of a keyword are the same word.", no_args_is_help=True
)


@tokenizer_app.command("show")
def show(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show the tokenizer options."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        _print(opened.tokenizer.read(), as_json=as_json)


@tokenizer_app.command("set")
def set_(
    *,
    fold_diacritics: FoldDiacriticsOption = None,
    split_names: SplitNamesOption = None,
    unify_apostrophes: UnifyApostrophesOption = None,
    unify_abbreviations: UnifyAbbreviationsOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Set tokenizer options; those that are not given keep their value.

    They apply to all keyword subscriptions, and to documents that are matched from then on: the
    next index version is built with them.
    """
    from penstock.workspace import Workspace

    given = {
        "fold_diacritics": fold_diacritics,
        "split_names": split_names,
        "unify_apostrophes": unify_apostrophes,
        "unify_abbreviations": unify_abbreviations,
    }
    if all(value is None for value in given.values()):
        raise typer.BadParameter("give at least one option", param_hint="--fold-diacritics")
    with Workspace.open(workspace) as opened:
        opened.tokenizer.write(chosen_tokenizer(given, opened.tokenizer.read()))
        _print(opened.tokenizer.read(), as_json=as_json)


def _print(options: TokenizerOptions, *, as_json: bool) -> None:
    if as_json:
        print_json({"type": "tokenizer", **options.by_name()})
        return
    for name, is_on in options.by_name().items():
        out().print(f"{name.replace('_', ' ')}: {'on' if is_on else 'off'}")
