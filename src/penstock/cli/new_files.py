"""Files that a command writes and that somebody may have edited since."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import typer


def require_new(paths: Iterable[Path], *, force: bool) -> None:
    """Refuses to write over a file, unless that is wanted."""
    for path in paths:
        if path.exists() and not force:
            raise typer.BadParameter(
                f"{path} exists already: --force overwrites it", param_hint="--output"
            )


def write(path: Path, text: str) -> None:
    """Writes a file, and the folders to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
