"""A file that was refused, shown with its name and place."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import typer

from penstock.cli.console import ExitCode, place_of, show_error
from penstock.errors import PenstockError


@contextmanager
def told(path: Path, *, as_json: bool) -> Iterator[None]:
    """Whatever is refused inside is the fault of this file: it is shown, and the command ends."""
    try:
        yield
    except PenstockError as error:
        show_error(error, place=place_of(path, error), as_json=as_json)
        raise typer.Exit(ExitCode.REFUSED) from error
