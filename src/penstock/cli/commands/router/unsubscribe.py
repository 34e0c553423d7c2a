"""``penstock router unsubscribe``: removes subscriptions at a router."""

from __future__ import annotations

from typing import Annotated

import typer

from penstock.cli.commands.router.client import (
    RouterAddressOption,
    TokenFileOption,
    connected,
    router_client,
    run_client,
)
from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, plural, print_json
from penstock.cli.link_options import AuthoritiesOption
from penstock.cli.options import JsonOption


def unsubscribe(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUBSCRIPTION", help="Subscription ids.", show_default=False),
    ] = None,
    *,
    connect: RouterAddressOption,
    name: Annotated[str, typer.Option(help="Name of the subscriber.", metavar="NAME")],
    every: Annotated[
        bool, typer.Option("--all", help="Remove all subscriptions of the subscriber.")
    ] = False,
    force: ForceRemovalOption = False,
    token_file: TokenFileOption = None,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove subscriptions at a router."""
    if every == bool(ids):
        raise typer.BadParameter("give subscriptions or --all", param_hint="SUBSCRIPTION, --all")
    what = f"all subscriptions of {name}" if every else plural(len(ids or ()), "subscription")
    confirm_removal(what, force=force, as_json=as_json)
    client = router_client(connect, name, token_file, tls_authorities)

    async def remove() -> int:
        async with client:
            await connected(client)
            return await client.unsubscribe(ids or ())

    removed = run_client(remove())
    if as_json:
        print_json({"type": "summary", "removed": removed})
    else:
        note(f"{plural(removed, 'subscription')} removed")
