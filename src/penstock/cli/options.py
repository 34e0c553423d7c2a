"""The arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import JSON_WANTED

if TYPE_CHECKING:
    from penstock.workspace.query_indexes import Kind

A_FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}

DocumentsArgument = Annotated[
    list[Path], typer.Argument(help="XML files.", show_default=False, **A_FILE)
]
QueryArgument = Annotated[str, typer.Argument(help="An XPath.", show_default=False)]
KeywordsOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Words in place of an XPath: `storm warning` means all of them, `storm OR gale` any.",
        show_default=False,
    ),
]
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


class Form(StrEnum):
    """What an answer to keywords returns, as :data:`penstock.matching.answers.Form` has it."""

    PATHS = "paths"
    SUBTREE = "subtree"
    IDS = "ids"


class Bench(StrEnum):
    """The benches by name, as :data:`penstock.lab.bench.BENCHES` has them."""

    READER = "reader"
    PATHS = "paths"
    INDEX = "index"
    KEYWORDS = "keywords"
    MEDIATION = "mediation"
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


def asked(
    query: str | None, keywords: str | None, for_xpath: Mapping[str, object]
) -> tuple[Kind, str]:
    """What is asked for: an XPath or keywords, one of them; some options are for XPath alone."""
    if keywords is None:
        if query is None:
            raise typer.BadParameter("give an XPath, or keywords", param_hint="QUERY, --keywords")
        return "xpath", query
    if query is not None:
        raise typer.BadParameter(
            f"there is an XPath too, `{query}`: one subscription is one of both",
            param_hint="--keywords",
        )
    refuse_options(for_xpath, "this is for an XPath, not for keywords")
    return "keywords", keywords


def refuse_options(given: Mapping[str, object], why: str) -> None:
    """Refuses a command line that has one of these options."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(why, param_hint=option)


def existing_file(name: str) -> Path:
    """The file that an argument names."""
    path = Path(name)
    if not path.is_file():
        raise typer.BadParameter(f"there is no file `{name}`", param_hint="DOCUMENTS...")
    return path
