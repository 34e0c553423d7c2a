"""The connection of a client to a router: options, tokens, and how it ends."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from penstock.cli.console import note
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import EXISTING_FILE
from penstock.errors import error

if TYPE_CHECKING:
    from penstock.links import ClientTls
    from penstock.service.router import RouterClient

T = TypeVar("T")

CONNECTION_POLL_SECONDS = 0.1
"""Time between two looks at why a client is not connected."""

TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        help="Names, roles and tokens of the other sides; see `How to run routers`.",
        **EXISTING_FILE,
    ),
]

RouterAddressOption = Annotated[
    str,
    typer.Option(
        "--connect",
        metavar="ADDRESS",
        help="Where the router listens: HOST:PORT or unix:PATH.",
        show_default=False,
    ),
]


def router_client(
    address: str, name: str, token_file: Path | None, authorities: Path | None
) -> RouterClient:
    """A client with the only token of its file, which is that of the router."""
    from penstock.service.router import Role, RouterClient, parse_address, read_tokens

    token, peer = None, ""
    if token_file is not None:
        routers = {
            each: known.token
            for each, known in read_tokens(token_file).items()
            if known.role is Role.ROUTER
        }
        if len(routers) != 1:
            raise error(
                "routing.token-file", f"{token_file} has {len(routers)} routers instead of one"
            )
        [(peer, token)] = routers.items()
    return RouterClient(
        parse_address(address),
        name=name,
        token=token,
        tls=client_tls(authorities),
        router=peer,
    )


def client_tls(authorities: Path | None) -> ClientTls | None:
    """The authorities that a client trusts."""
    from penstock.links import ClientTls

    return None if authorities is None else ClientTls(authorities=authorities)


async def connected(client: RouterClient) -> None:
    """Waits for the connection, and says once why there is none yet."""
    connecting = asyncio.create_task(client.connected())
    try:
        while not client.last_error and not connecting.done():
            await asyncio.wait({connecting}, timeout=CONNECTION_POLL_SECONDS)
        if not connecting.done():
            note(f"not connected, trying again: {client.last_error}")
        await connecting
    finally:
        connecting.cancel()


def run_client(main: Coroutine[Any, Any, T], *, is_endless: bool = False) -> T:
    """Runs a client; SIGTERM ends it as Ctrl-C does, which is the normal end of an endless one."""
    from penstock.links import run

    async def stoppable() -> T:
        task = asyncio.create_task(main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        return await task

    try:
        return run(stoppable())
    except asyncio.CancelledError:
        note("stopped")
        raise typer.Exit(ExitCode.SUCCESS if is_endless else ExitCode.CHECK_FAILED) from None
