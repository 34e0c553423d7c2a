"""``penstock router publish``: publishes documents to a router."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.publish import login_name
from penstock.cli.commands.router.client import (
    RouterAddressOption,
    TokenFileOption,
    connected,
    router_client,
    run_client,
)
from penstock.cli.console import note, plural, print_json, print_line, progress
from penstock.cli.document_inputs import DocumentInput, document_inputs
from penstock.cli.exit_codes import ExitCode
from penstock.cli.link_options import AuthoritiesOption
from penstock.cli.options import DOCUMENTS_HELP, JsonOption, header_fields

if TYPE_CHECKING:
    from penstock.documents import Document, Header
    from penstock.service.router import Receipt, RouterClient


def publish(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT", help=DOCUMENTS_HELP, show_default=False),
    ] = None,
    *,
    connect: RouterAddressOption,
    name: Annotated[str, typer.Option(help="Name of this client (default: your login name).")] = "",
    publisher: Annotated[
        str, typer.Option(help="Name of the publisher (default: the name of this client).")
    ] = "",
    schema: Annotated[str, typer.Option(help="Name of the documents' schema.")] = "",
    header_field: Annotated[
        list[str] | None,
        typer.Option(
            "--header", "--field", metavar="FIELD=VALUE", help="A header field (repeatable)."
        ),
    ] = None,
    token_file: TokenFileOption = None,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish documents to a router, and wait until it has stored them.

    Connects again if the connection breaks. A document that was published before is a duplicate;
    a malformed one is refused. Exits with 3 if any was refused.
    """
    from penstock.documents import Header

    inputs = document_inputs(files or [])
    client_name = name or login_name()
    header = Header(
        publisher=publisher or client_name,
        schema=schema,
        fields=header_fields(header_field),
    )
    client = router_client(connect, client_name, token_file, tls_authorities)
    counts = run_client(_publish(client, inputs, header, as_json=as_json))
    if as_json:
        print_json({"type": "summary", **counts})
    else:
        parts = [f"{plural(counts['accepted'], 'document')} published"]
        if counts["duplicate"]:
            parts.append(f"{counts['duplicate']:,} known")
        if counts["refused"]:
            parts.append(f"{counts['refused']:,} refused")
        note(", ".join(parts))
    if counts["refused"]:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


async def _publish(
    client: RouterClient, inputs: Sequence[DocumentInput], header: Header, *, as_json: bool
) -> dict[str, int]:
    from penstock.documents import Document

    counts = {"accepted": 0, "duplicate": 0, "refused": 0}
    waiting: list[tuple[DocumentInput, Document, asyncio.Future[Receipt]]] = []

    async def show_first() -> None:
        given, document, future = waiting.pop(0)
        receipt = await future
        counts[receipt.outcome] += 1
        _show_receipt(given, document, receipt, as_json=as_json)

    async with client:
        await connected(client)
        for each in progress(inputs, "publishing"):
            document = Document(each.content(), replace(header))
            waiting.append((each, document, await client.publish(document)))
            while waiting and waiting[0][2].done():
                await show_first()
        while waiting:
            await show_first()
    return counts


def _show_receipt(
    given: DocumentInput, document: Document, receipt: Receipt, *, as_json: bool
) -> None:
    if as_json:
        row: dict[str, Any] = {
            "type": "document",
            "file": str(given),
            "document": document.identity,
            "outcome": receipt.outcome,
        }
        if receipt.code:
            row |= {"code": receipt.code, "message": receipt.message}
        print_json(row)
        return
    reason = f": {receipt.message} [{receipt.code}]" if receipt.code else ""
    print_line(f"{receipt.outcome:<9}  {given}{reason}")
