"""Writes output files without overwriting a file that the user may have edited."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer


def require_new(paths: Iterable[Path], *, force: bool) -> None:
    """Rejects the command line if a file exists already, unless ``--force`` is given."""
    for path in paths:
        if path.exists() and not force:
            raise typer.BadParameter(
                f"{path} already exists; use --force to overwrite it", param_hint="--output"
            )


def write(path: Path, text: str) -> None:
    """Writes a text file, creating parent folders as needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
