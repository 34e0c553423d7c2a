"""The options of ``penstock domain``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import A_FILE, JsonOption, WorkspaceOption

domain_app = typer.Typer(
    name="domain",
    no_args_is_help=True,
    help="Keep the global schemas that subscriptions are written for, one a domain.",
)

DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="Its name.", show_default=False)
]


@domain_app.command("add")
def _add(
    schema: Annotated[
        Path,
        typer.Argument(
            metavar="GLOBAL",
            help="The global schema: a schema file, a .dtd or an .xsd.",
            show_default=False,
            **A_FILE,
        ),
    ],
    *,
    name: Annotated[
        str | None,
        typer.Option(help="The domain, where the file does not say it."),
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Add a domain by its global schema, or the next version of one.

    A version keeps everything that the one before has, so that subscriptions stay as they are.
    """
    from penstock.cli import domains

    raise typer.Exit(domains.add(workspace, schema, name=name, as_json=as_json))


@domain_app.command("list")
def _list(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """List the domains: the last version of each, and how many local schemas belong to it."""
    from penstock.cli import domains

    raise typer.Exit(domains.show_all(workspace, as_json=as_json))


@domain_app.command("show")
def _show(
    name: DomainArgument,
    *,
    version: Annotated[
        int | None, typer.Option(min=1, help="Another version than the last.")
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Print the global schema of a domain, as a schema file."""
    from penstock.cli import domains

    raise typer.Exit(domains.show(workspace, name, version=version, as_json=as_json))


@domain_app.command("remove")
def _remove(
    name: DomainArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Remove a domain to which no local schema belongs any more."""
    from penstock.cli import domains

    raise typer.Exit(domains.remove(workspace, name, as_json=as_json))
