"""Locks between the processes of a workspace, gone with the process that holds them."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import error


@contextlib.contextmanager
def holding(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold a lock, which is a file that stays; nobody else holds it meanwhile.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: another process holds it, and ``wait`` is false.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as held:
            raise error("workspace.running", f"another process holds {path}") from held
        yield
