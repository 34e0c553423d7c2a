"""``penstock sync serve``: serves documents over HTTP."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.console import note, print_json, print_line
from penstock.cli.link_options import MetricsOption, TlsKeyOption
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.sync_options import PlaintextOption, StoreOption

if TYPE_CHECKING:
    from penstock.service.sync.process import Serving
    from penstock.workspace.basex_session import BasexServer

BASEX_VARIABLE: Final = "PENSTOCK_BASEX_PASSWORD"


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
    basex: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="A BaseX server that keeps the documents, instead of SQLite files in the store.",
        ),
    ] = None,
    basex_user: Annotated[
        str, typer.Option(metavar="USER", help="A user of BaseX who may create databases.")
    ] = "admin",
    basex_password_file: Annotated[
        Path | None,
        typer.Option(
            help=f"File with the user's password (default: the variable {BASEX_VARIABLE}).",
            **EXISTING_FILE,
        ),
    ] = None,
    metrics: MetricsOption = None,
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
    served = None if metrics is None else parse_address(metrics)
    if served is not None and not isinstance(served, TcpAddress):
        raise typer.BadParameter("metrics are served over TCP", param_hint="--metrics")
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
        metrics=served,
        basex=None if basex is None else _basex(basex, basex_user, basex_password_file),
    )

    def show(serving: Serving) -> None:
        _show(serving, as_json=as_json)

    run(run_server(options, show))
    note("stopped")


def _basex(address: str, user: str, password_file: Path | None) -> BasexServer:
    from penstock.links import TcpAddress
    from penstock.service.addresses import parse_address
    from penstock.workspace.basex_session import BasexServer

    parsed = parse_address(address)
    if not isinstance(parsed, TcpAddress):
        raise typer.BadParameter("give a host and a port", param_hint="--basex")
    if password_file is None:
        password = os.environ.get(BASEX_VARIABLE)
    else:
        password = password_file.read_text(encoding="utf-8").strip()
    if password is None:
        raise typer.BadParameter("give the password of the user", param_hint="--basex")
    return BasexServer(host=parsed.host, port=parsed.port, user=user, password=password)


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
                "metrics": None if serving.metrics is None else str(serving.metrics),
            }
        )
    else:
        for name, version in serving.documents.items():
            origin = "from the store" if name in serving.restored else "new"
            print_line(f"serving {serving.url}/{name}, version {version}, {origin}")
        if serving.metrics is not None:
            print_line(f"metrics: http://{serving.metrics}/metrics")
    sys.stdout.flush()
