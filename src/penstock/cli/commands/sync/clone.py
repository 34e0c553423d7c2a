"""``penstock sync clone``: makes a working directory."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.commands.publish import login_name
from penstock.cli.console import print_json, print_line
from penstock.cli.options import DefaultNamespaceOption, JsonOption, NamespaceOption, bindings
from penstock.cli.sync_options import (
    PlaintextOption,
    ServerAuthoritiesOption,
    SyncTokenFileOption,
    read_token,
    trusted,
)


class QueryLanguage(StrEnum):
    """The language of the query."""

    XPATH = "xpath"
    XQL = "xql"


def clone(
    url: Annotated[
        str,
        typer.Argument(
            metavar="URL", help="http://HOST:PORT/DOCUMENT, or with https.", show_default=False
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="DIR", help="The new folder (default: the document's name).", show_default=False
        ),
    ] = None,
    *,
    query: Annotated[
        str,
        typer.Option(metavar="QUERY", help="What to clone; ancestors come as bare elements."),
    ] = "/*",
    language: Annotated[
        QueryLanguage,
        typer.Option(help="Of the query: XPath, or extended XQL as in statements."),
    ] = QueryLanguage.XPATH,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    name: Annotated[
        str, typer.Option(help="Name of this clone in others' reports (default: your login name).")
    ] = "",
    token_file: SyncTokenFileOption = None,
    tls_authorities: ServerAuthoritiesOption = None,
    plaintext: PlaintextOption = False,
    as_json: JsonOption = False,
) -> None:
    """Clone a document, or the part that a query selects, into a new folder.

    An interrupted clone is continued by the same command.
    """
    from penstock.service.sync import SyncConnection, WorkingDirectory, parse_url, synchronise
    from penstock.service.sync.working_directory import new_client_name
    from penstock.sync import SubscriptionLanguage, SyncSubscription

    place = parse_url(url)
    subscription = SyncSubscription(
        query,
        tuple(bindings(namespace).items()),
        default_namespace or "",
        SubscriptionLanguage(language.value),
    )
    token = read_token(token_file)
    target = Path(place.document) if folder is None else folder
    with SyncConnection(
        place, token=token, tls=trusted(tls_authorities), plaintext=plaintext
    ) as connection:
        account = connection.describe().account
        label = re.sub(r"[^A-Za-z0-9_.-]", "-", name or login_name())[:64]
        with WorkingDirectory.create(
            target,
            place,
            new_client_name(account, label),
            subscription,
            authorities=tls_authorities,
            plaintext=plaintext,
        ) as directory:
            if token is not None:
                directory.keep_token(token)
            done = synchronise(directory, connection, submit=False)
            file = directory.file
            client = directory.client.name
    if as_json:
        print_json(
            {
                "type": "clone",
                "url": str(place),
                "file": str(file),
                "client": client,
                "version": done.version,
            }
        )
    else:
        print_line(f"{file}: version {done.version} of {place}")
