"""Options that the commands which run a server or a link share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import EXISTING_FILE

TlsKeyOption = Annotated[Path | None, typer.Option(help="Key of the certificate.", **EXISTING_FILE)]
AuthoritiesOption = Annotated[
    Path | None,
    typer.Option(
        "--tls-authorities",
        help="Certificates that the other side's must be signed by; turns TLS on.",
        **EXISTING_FILE,
    ),
]
MetricsOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Serve metrics for Prometheus over HTTP, at `/metrics`."),
]
