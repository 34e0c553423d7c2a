"""``penstock sync serve``: serves documents over HTTP."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.console import note, print_json, print_line
from penstock.cli.link_options import TlsKeyOption
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.sync_options import PlaintextOption, StoreOption

if TYPE_CHECKING:
    from penstock.service.sync.process import Serving


def serve(
    documents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME=]FILE",
            help="XML files to serve; the name is that of the file by default. A document that the"
            " store has already is not read again.",
            show_default=False,
        ),
    ] = None,
    *,
    store: StoreOption,
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one."),
    ] = "127.0.0.1:8480",
    insecure: Annotated[
        bool,
        typer.Option("--insecure", help="Do without tokens, on addresses of this machine only."),
    ] = False,
    plaintext: PlaintextOption = False,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="Certificate of the server; turns TLS on.", **EXISTING_FILE)
    ] = None,
    tls_key: TlsKeyOption = None,
    as_json: JsonOption = False,
) -> None:
    """Serve documents in the foreground, until SIGTERM or Ctrl-C.

    Create a token for each user with `penstock sync token create`. What clients push is stored
    before it is acknowledged.
    """
    from penstock.extras import require_sync_extra

    require_sync_extra("msgspec", "starlette", "uvicorn")
    from penstock.links import ServerTls, TcpAddress, run
    from penstock.service.addresses import parse_address
    from penstock.service.sync.process import ServeOptions, run_server

    if (tls_certificate is None) != (tls_key is None):
        raise typer.BadParameter("give a certificate and its key", param_hint="--tls-key")
    address = parse_address(listen)
    if not isinstance(address, TcpAddress):
        raise typer.BadParameter("give a host and a port", param_hint="--listen")
    tls = None
    if tls_certificate is not None and tls_key is not None:
        tls = ServerTls(certificate=tls_certificate, key=tls_key)
    options = ServeOptions(
        folder=store,
        listen=address,
        documents=_files(documents or []),
        insecure=insecure,
        plaintext=plaintext,
        tls=tls,
    )

    def show(serving: Serving) -> None:
        _show(serving, as_json=as_json)

    run(run_server(options, show))
    note("stopped")


def _files(given: Sequence[str]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for text in given:
        name, equals, path = text.partition("=")
        file = Path(path if equals else text)
        if not file.is_file():
            raise typer.BadParameter(f"there is no file {file}", param_hint="[NAME=]FILE")
        name = name if equals else file.stem
        if name in found:
            raise typer.BadParameter(f"`{name}` is given twice", param_hint="[NAME=]FILE")
        found[name] = file
    return found


def _show(serving: Serving, *, as_json: bool) -> None:
    if as_json:
        print_json(
            {
                "type": "serving",
                "url": serving.url,
                "documents": dict(serving.documents),
                "restored": sorted(serving.restored),
            }
        )
    else:
        for name, version in serving.documents.items():
            origin = "from the store" if name in serving.restored else "new"
            print_line(f"serving {serving.url}/{name}, version {version}, {origin}")
    sys.stdout.flush()
