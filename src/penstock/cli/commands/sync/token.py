"""``penstock sync token``: creates, lists and revokes the tokens of a server."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.console import note, print_json, print_line
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import StoreOption

token_app = typer.Typer(
    no_args_is_help=True, help="Create, list and revoke the tokens of a server's users."
)

AccountArgument = Annotated[
    str, typer.Argument(metavar="NAME", help="Name of the user.", show_default=False)
]


@token_app.command("create")
def create(
    account: AccountArgument,
    *,
    store: StoreOption,
    document: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DOCUMENT",
            help="Limit the token to this document (repeatable).",
            show_default="all documents",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Create a token and print it; it is not stored, and cannot be shown again."""
    from penstock.service.sync.tokens import create_token
    from penstock.workspace.private_files import make_private_folder

    make_private_folder(store)
    token = create_token(store, account, documents=document or ())
    if as_json:
        print_json({"type": "token", "account": account, "token": token})
    else:
        print_line(token)
        note("keep it in a file that only its user can read, for `--token-file`")


@token_app.command("list")
def list_tokens(*, store: StoreOption, as_json: JsonOption = False) -> None:
    """List the users that have a token, and the documents that it is limited to."""
    from penstock.service.sync.tokens import read_accounts

    for name, account in sorted(read_accounts(store).items()):
        documents = sorted(account.documents)
        if as_json:
            print_json({"type": "account", "account": name, "documents": documents or None})
        else:
            print_line(" ".join((name, *documents)))


@token_app.command("revoke")
def revoke(account: AccountArgument, *, store: StoreOption, as_json: JsonOption = False) -> None:
    """Revoke the token of a user. A running server refuses it at once."""
    from penstock.service.sync.tokens import revoke_token

    revoke_token(store, account)
    if as_json:
        print_json({"type": "revoked", "account": account})
    else:
        note(f"the token of {account} is revoked")
