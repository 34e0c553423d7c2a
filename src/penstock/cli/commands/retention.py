"""``penstock retention``: shows and sets how long a workspace keeps its data."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import out, print_json
from penstock.cli.options import JsonOption, WorkspaceOption

if TYPE_CHECKING:
    from penstock.workspace.retention_policy import RetentionPolicy

retention_app = typer.Typer(
    help="Show or set how long documents, deliveries and dead letters are kept.",
    no_args_is_help=True,
)

_AGE = re.compile(r"(\d{1,6})([hd])")
_UNITS = {"h": "hours", "d": "days"}
_FOREVER = "forever"

AgeOption = Annotated[
    str | None,
    typer.Option(
        metavar="AGE", help="Hours or days, such as 12h or 30d, or `forever`.", show_default=False
    ),
]


@retention_app.command("show")
def show(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show the retention policy."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        _print(opened.retention.read(), as_json=as_json)


@retention_app.command("set")
def set_(
    *,
    documents: AgeOption = None,
    deliveries: AgeOption = None,
    dead_letters: AgeOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Set how long data is kept; what is not given keeps its age.

    `penstock run` removes older data by itself, and `penstock clean` after asking.
    """
    from penstock.workspace import Workspace

    given = {"documents": documents, "deliveries": deliveries, "dead_letters": dead_letters}
    changed = {
        kind: _parse_age(text, f"--{kind.replace('_', '-')}")
        for kind, text in given.items()
        if text is not None
    }
    if not changed:
        raise typer.BadParameter("give at least one age", param_hint="--documents, --deliveries")
    with Workspace.open(workspace) as opened:
        opened.retention.write(replace(opened.retention.read(), **changed))
        _print(opened.retention.read(), as_json=as_json)


def _parse_age(text: str, option: str) -> timedelta | None:
    if text == _FOREVER:
        return None
    age = _AGE.fullmatch(text)
    if age is None:
        raise typer.BadParameter(
            f"`{text}` is not an age: use for example 12h, 30d or {_FOREVER}", param_hint=option
        )
    return timedelta(**{_UNITS[age[2]]: int(age[1])})


def format_age(age: timedelta | None) -> str:
    """An age as the options accept it."""
    if age is None:
        return _FOREVER
    hours = int(age.total_seconds()) // 3600
    return f"{hours // 24}d" if hours % 24 == 0 else f"{hours}h"


def _print(policy: RetentionPolicy, *, as_json: bool) -> None:
    ages = {kind: format_age(age) for kind, age in policy.ages().items()}
    if as_json:
        print_json({"type": "retention", **ages})
        return
    for kind, age in ages.items():
        out().print(f"{kind.replace('_', ' ')}: {age}")
