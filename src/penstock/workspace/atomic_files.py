"""Files that appear whole or not at all, and are still there after a power cut."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from io import BufferedWriter
from pathlib import Path

TEMPORARY = ".part"
"""How the names of files end that are still being written."""


@contextlib.contextmanager
def writing(path: Path) -> Iterator[BufferedWriter]:
    """A file to write into; it takes its name, in place of any other, once it is on the disk.

    Where the block fails nothing is left. Several processes may write the same name at once: each
    writes a file of its own, and one of them stays.
    """
    beside = beside_of(path)
    try:
        with beside.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def beside_of(path: Path) -> Path:
    """A new name beside ``path``, for a file that will be renamed to it."""
    return path.with_name(f"{path.name}.{secrets.token_hex(8)}{TEMPORARY}")


def sync_folder(folder: Path) -> None:
    """Writes the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
