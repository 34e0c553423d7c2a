"""``penstock sync clones`` and ``penstock sync forget``: the clones that a server knows."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, print_json, print_line
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import (
    PlaintextOption,
    ServerAuthoritiesOption,
    SyncTokenFileOption,
    read_token,
    trusted,
)

UrlArgument = Annotated[
    str,
    typer.Argument(
        metavar="URL", help="http://HOST:PORT/DOCUMENT, or with https.", show_default=False
    ),
]


def clones(
    url: UrlArgument,
    *,
    token_file: SyncTokenFileOption = None,
    tls_authorities: ServerAuthoritiesOption = None,
    plaintext: PlaintextOption = False,
    as_json: JsonOption = False,
) -> None:
    """List your clones of a document, with the version that each has acknowledged.

    The server keeps its log for the oldest of them.
    """
    from penstock.service.sync import SyncConnection, parse_url

    with SyncConnection(
        parse_url(url),
        token=read_token(token_file),
        tls=trusted(tls_authorities),
        plaintext=plaintext,
    ) as connection:
        for each in connection.clones():
            if as_json:
                print_json(
                    {
                        "type": "clone",
                        "client": each.client,
                        "version": each.version,
                        "query": each.query,
                    }
                )
            else:
                print_line(f"{each.client}  version {each.version}, {each.query}")


def forget(
    url: UrlArgument,
    client: Annotated[
        str,
        typer.Argument(
            metavar="CLONE",
            help="Name of the clone, as `penstock sync clones` shows it.",
            show_default=False,
        ),
    ],
    *,
    token_file: SyncTokenFileOption = None,
    tls_authorities: ServerAuthoritiesOption = None,
    plaintext: PlaintextOption = False,
    force: ForceRemovalOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a clone that nobody uses any more from its server.

    Its folder, if there still is one, is cloned again by its next `pull` or `push`, and keeps what
    is not pushed.
    """
    from penstock.service.sync import SyncConnection, parse_url

    confirm_removal(f"the clone `{client}` from the server", force=force, as_json=as_json)
    with SyncConnection(
        parse_url(url),
        token=read_token(token_file),
        tls=trusted(tls_authorities),
        plaintext=plaintext,
    ) as connection:
        connection.forget(client)
    if as_json:
        print_json({"type": "forgotten", "client": client})
    else:
        note(f"the server has forgotten {client}")
