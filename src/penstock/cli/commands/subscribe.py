"""``penstock subscribe``: adds a subscription."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, out, print_json, show_error
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_dtd
from penstock.cli.options import (
    EXISTING_FILE,
    DefaultNamespaceOption,
    JsonOption,
    KeywordsOption,
    NamespaceOption,
    WhereOption,
    WorkspaceOption,
    bindings,
    header_fields,
    query_or_keywords,
)
from penstock.cli.time_arguments import parse_time
from penstock.errors import QueryError


class Returns(StrEnum):
    """What a delivery contains; see :class:`penstock.workspace.StoredSubscription`."""

    DOCUMENT = "document"
    FRAGMENTS = "fragments"


def subscribe(
    subscriber: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the subscriber.", show_default=False)
    ],
    query: Annotated[
        str | None, typer.Argument(metavar="QUERY", help="An XPath query.", show_default=False)
    ] = None,
    *,
    keywords: KeywordsOption = None,
    workspace: WorkspaceOption = Path(),
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    where: WhereOption = None,
    dtd: Annotated[
        Path | None,
        typer.Option(help="Warn if no document valid against this DTD can match.", **EXISTING_FILE),
    ] = None,
    id_: Annotated[
        str,
        typer.Option(
            "--id", metavar="ID", help="Id of the subscription (default: a generated one)."
        ),
    ] = "",
    returns: Annotated[
        Returns | None,
        typer.Option(
            help="Deliver the complete document (default for XPath) or the fragments that the"
            " query selects (default for keywords).",
            show_default=False,
        ),
    ] = None,
    fragments_max: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Deliver at most N fragments of a document (default: 1,000).",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Deliver from this time on, such as 2026-05-01T12:00 or 2h."
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Stop delivering at this time, such as 7d from now."),
    ] = None,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Also deliver documents published earlier.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Subscribe to documents by XPath or keywords, and print the subscription's id.

    The subscription applies to the next documents that `penstock run` processes. Subscribing again
    with the same id and query changes nothing.
    """
    from penstock.cli.subscription_rows import as_dict
    from penstock.language import why_never
    from penstock.workspace import StoredSubscription, Workspace
    from penstock.workspace.stored_subscription import RETURNS_BY_DEFAULT

    kind, text = query_or_keywords(
        query,
        keywords,
        {"--namespace": namespace, "--default-namespace": default_namespace, "--dtd": dtd},
    )
    wanted = StoredSubscription(
        id=id_,
        subscriber=subscriber,
        kind=kind,
        query=text,
        namespaces=bindings(namespace),
        default_namespace=default_namespace,
        where=header_fields(where, "--where"),
        returns=RETURNS_BY_DEFAULT[kind] if returns is None else returns.value,
        fragments_max=fragments_max,
        starts_at=parse_time(starts, "--starts"),
        expires_at=parse_time(expires, "--expires"),
        backfill="wanted" if backfill else "none",
    )
    schema = None if dtd is None else read_dtd(dtd, as_json=as_json)
    with Workspace.open(workspace) as opened:
        try:
            stored = opened.subscriptions.add(wanted)
        except QueryError as error:
            show_error(error, source=text, as_json=as_json)
            if not as_json and kind == "xpath" and _looks_like_keywords(text):
                note("to subscribe to keywords: penstock subscribe NAME --keywords WORDS")
            raise typer.Exit(ExitCode.INPUT_REFUSED) from error
    never = None
    if stored.kind == "xpath":  # keywords can always match, and a DTD says nothing about text
        never = why_never(stored.subscription.parsed, schema)
    if as_json:
        print_json({**as_dict(stored), "never_matches": never})
        return
    out().print(stored.id)
    if never is not None:
        note(f"note: this subscription never matches: {never}")


def _looks_like_keywords(query: str) -> bool:
    """Whether a refused query was probably meant as keywords: several words, no path syntax."""
    return len(query.split()) > 1 and not set(query) & set("/@[*|")
