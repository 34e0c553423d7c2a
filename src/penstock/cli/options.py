"""The arguments and options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.console import JSON_WANTED

A_FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}

DocumentsArgument = Annotated[
    list[Path], typer.Argument(help="XML files.", show_default=False, **A_FILE)
]
QueryArgument = Annotated[str, typer.Argument(help="An XPath.", show_default=False)]
NamespaceOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="PREFIX=URI", help="What a prefix means; repeatable."),
]
DefaultNamespaceOption = Annotated[
    str | None,
    typer.Option(metavar="URI", help="The namespace of element names without a prefix."),
]

SubscriptionsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SUBSCRIPTION...", help="Ids of subscriptions.", show_default=False),
]
WorkspaceOption = Annotated[
    Path,
    typer.Option(
        "--workspace",
        "-w",
        metavar="DIR",
        envvar="PENSTOCK_WORKSPACE",
        help="The workspace; by default the folder you are in.",
        show_default=False,
    ),
]
"""The ``--workspace`` of every command that uses one."""


class Engine(StrEnum):
    """The engines by name, as :data:`penstock.matching.engine.ENGINES` has them."""

    SHARED = "shared"
    YFILTER = "yfilter"
    REFERENCE = "reference"


class Bench(StrEnum):
    """The benches by name, as :data:`penstock.lab.bench.BENCHES` has them."""

    READER = "reader"
    PATHS = "paths"
    INDEX = "index"
    PIPELINE = "pipeline"


def _remember_json(context: typer.Context, value: bool) -> bool:
    # Errors are shown by the group, which never sees its commands' options.
    context.meta[JSON_WANTED] = value
    return value


JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON instead of text.", callback=_remember_json),
]
"""The ``--json`` that every command has; errors follow it too."""


def bindings(
    given: list[str] | None, option: str = "--namespace", form: str = "PREFIX=URI"
) -> dict[str, str]:
    """``["p=uri"]`` as a map."""
    found = {}
    for binding in given or ():
        name, equals, value = binding.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"`{binding}` is no {form}", param_hint=option)
        found[name] = value
    return found
