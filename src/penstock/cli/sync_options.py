"""Options and connections that the commands of ``penstock sync`` share."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from penstock.cli.console import place_of, show_error
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import EXISTING_FILE
from penstock.errors import DocumentError, UpdateError, error

if TYPE_CHECKING:
    from penstock.service.sync import SyncConnection, WorkingDirectory

TOKEN_VARIABLE: Final = "PENSTOCK_SYNC_TOKEN"

CloneOption = Annotated[
    Path,
    typer.Option(
        "--folder",
        "-f",
        metavar="DIR",
        help="The working directory, or a folder in it (default: the current folder).",
        show_default=False,
    ),
]
StoreOption = Annotated[
    Path,
    typer.Option(
        "--store",
        metavar="DIR",
        envvar="PENSTOCK_SYNC_STORE",
        help="Folder of the server: documents, and digests of tokens.",
        show_default=False,
    ),
]
SyncTokenFileOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help=f"File with the token (default: the variable {TOKEN_VARIABLE}).",
        **EXISTING_FILE,
    ),
]
NewTokenOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with a new token, which replaces that of the clone.",
        **EXISTING_FILE,
    ),
]
ServerAuthoritiesOption = Annotated[
    Path | None,
    typer.Option(
        "--tls-authorities",
        help="Certificates that the server's must be signed by (default: those of the system).",
        **EXISTING_FILE,
    ),
]
PlaintextOption = Annotated[
    bool,
    typer.Option(
        "--plaintext",
        help="Send tokens to other machines without TLS, for instance behind a proxy with TLS.",
    ),
]


def read_token(path: Path | None) -> str | None:
    """The token of a file, or of the environment."""
    if path is None:
        return os.environ.get(TOKEN_VARIABLE) or None
    return path.read_text(encoding="utf-8").strip()


def trusted(authorities: Path | None) -> ssl.SSLContext | None:
    """A TLS context that trusts the certificates of a file."""
    if authorities is None:
        return None
    from penstock.links import ClientTls

    try:
        return ClientTls(authorities=authorities).context()
    except (ssl.SSLError, ValueError) as problem:
        raise error("sync.tls", f"{authorities}: {problem}") from None


def connection_of(directory: WorkingDirectory, token_file: Path | None) -> SyncConnection:
    """A connection to the server of a clone, with the clone's token.

    A token of the environment may be that of another server.
    """
    from penstock.service.sync import SyncConnection

    if token_file is not None:
        directory.keep_token(token_file.read_text(encoding="utf-8").strip())
    return SyncConnection(
        directory.url,
        token=directory.token,
        tls=trusted(directory.authorities),
        plaintext=directory.plaintext,
    )


@contextmanager
def errors_of_file(path: Path, *, as_json: bool) -> Iterator[None]:
    """Reports what is wrong with an edited file with its name and the position."""
    try:
        yield
    except (DocumentError, UpdateError) as refused:
        show_error(refused, place=place_of(path, refused), as_json=as_json)
        raise typer.Exit(ExitCode.INPUT_REFUSED) from None


def finish_change(directory: WorkingDirectory, kind: str, text: str) -> None:
    """Stores a change of the cache, and writes it to the file.

    Raises
    ------
    SyncError
        ``sync.file-changed``: the file was saved by somebody else meanwhile; nothing is changed.
    """
    if not directory.check_out((kind, text)):
        raise error("sync.file-changed", f"{directory.file} was saved meanwhile")
