"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.console import JSON_WANTED

if TYPE_CHECKING:
    from penstock.matching.query_indexes import QueryKind

EXISTING_FILE: dict[str, Any] = {"exists": True, "dir_okay": False, "readable": True}

DOCUMENTS_HELP = "XML files, folders, glob patterns or pipes; `-` is a document on standard input."
DocumentsArgument = Annotated[
    list[Path],
    typer.Argument(metavar="DOCUMENT", help=DOCUMENTS_HELP, show_default=False),
]
KeywordsOption = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="Keywords instead of an XPath query: `storm warning` requires both words,"
        " `storm OR gale` at least one.",
        show_default=False,
    ),
]
NamespaceOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", metavar="PREFIX=URI", help="Bind a namespace prefix (repeatable)."),
]
WhereOption = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="FIELD=VALUE",
        help="Match only documents with this header field; `publisher` and `schema` are fields too"
        " (repeatable).",
        show_default=False,
    ),
]
HeaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--header",
        metavar="FIELD=VALUE",
        help="A header field of the documents, for subscriptions that test it (repeatable).",
        show_default=False,
    ),
]
DefaultNamespaceOption = Annotated[
    str | None,
    typer.Option(metavar="URI", help="Namespace of element names without a prefix."),
]
SubscriptionsArgument = Annotated[
    list[str],
    typer.Argument(metavar="SUBSCRIPTION", help="Subscription ids.", show_default=False),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Exit with 3 if anything was refused.")
]
WorkspaceOption = Annotated[
    Path,
    typer.Option(
        "--workspace",
        "-w",
        metavar="DIR",
        envvar="PENSTOCK_WORKSPACE",
        help="The workspace (default: the current folder).",
        show_default=False,
    ),
]


def _remember_json(context: typer.Context, value: bool) -> bool:
    # The group prints errors, but never sees the options of its commands.
    context.meta[JSON_WANTED] = value
    return value


JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON Lines instead of text.", callback=_remember_json),
]
"""The ``--json`` of every command; it applies to errors too."""


def bindings(
    given: list[str] | None, option: str = "--namespace", form: str = "PREFIX=URI"
) -> dict[str, str]:
    """Parses repeated ``NAME=VALUE`` options into a dictionary."""
    found = {}
    for binding in given or ():
        name, equals, value = binding.partition("=")
        if not (name and equals and value):
            raise typer.BadParameter(f"`{binding}` is not {form}", param_hint=option)
        found[name] = value
    return found


def header_fields(given: list[str] | None, option: str = "--header") -> dict[str, str]:
    """Parses repeated ``FIELD=VALUE`` options; the value may be empty."""
    found = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not (name and equals):
            raise typer.BadParameter(f"`{text}` is not FIELD=VALUE", param_hint=option)
        found[name] = value
    return found


def query_or_keywords(
    query: str | None, keywords: str | None, xpath_options: Mapping[str, object]
) -> tuple[QueryKind, str]:
    """Returns the kind and the text of the query; exactly one of the two must be given.

    ``xpath_options`` are the options, by name, that may not be combined with keywords.
    """
    if keywords is None:
        if query is None:
            raise typer.BadParameter(
                "give an XPath query or keywords", param_hint="QUERY, --keywords"
            )
        return "xpath", query
    if query is not None:
        raise typer.BadParameter(
            f"a subscription is either an XPath query (`{query}`) or keywords, not both",
            param_hint="--keywords",
        )
    refuse_options(xpath_options, "applies to XPath queries, not to keywords")
    return "keywords", keywords


def refuse_options(given: Mapping[str, object], why: str) -> None:
    """Rejects the command line if any of these options is set."""
    for option, value in given.items():
        if value:
            raise typer.BadParameter(why, param_hint=option)
