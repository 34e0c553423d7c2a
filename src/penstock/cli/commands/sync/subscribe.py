"""``penstock sync subscribe``: changes what a clone contains."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.commands.sync.clone import QueryLanguage
from penstock.cli.options import DefaultNamespaceOption, JsonOption, NamespaceOption, bindings
from penstock.cli.sync_options import CloneOption, NewTokenOption, connection_of, errors_of_file
from penstock.cli.sync_report import show_synchronisation


def subscribe(
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY", help="What the clone contains from now on.", show_default=False
        ),
    ],
    *,
    folder: CloneOption = Path(),
    language: Annotated[
        QueryLanguage,
        typer.Option(help="Of the query: XPath, or extended XQL as in statements."),
    ] = QueryLanguage.XPATH,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    token_file: NewTokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the clone to what another query selects, and bring the file up to date.

    Only the difference is sent by the server. Your changes stay, and are not sent. If the server
    cannot be reached, the next push or pull changes it.
    """
    from penstock.service.sync import WorkingDirectory, synchronise
    from penstock.sync import SubscriptionLanguage, SyncSubscription
    from penstock.sync.request_round import require_usable

    subscription = SyncSubscription(
        query,
        tuple(bindings(namespace).items()),
        default_namespace or "",
        SubscriptionLanguage(language.value),
    )
    require_usable(subscription)  # before anything is stored
    with (
        WorkingDirectory.open(folder) as directory,
        errors_of_file(directory.file, as_json=as_json),
        connection_of(directory, token_file) as connection,
    ):
        directory.take_edits()
        directory.client.subscribe(subscription)
        directory.save(("subscribe", query))
        done = synchronise(directory, connection, submit=False)
    show_synchronisation(done, command="subscribe", as_json=as_json)
