"""File locks between the processes of a workspace. They are released when the holder exits."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.errors import error
from penstock.workspace.private_files import open_private


@contextlib.contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[None]:
    """Hold an exclusive lock on a file, which is created if missing and never removed.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: another process holds the lock, and ``wait`` is false.
    """
    with open(path, "a", opener=open_private) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as held:
            raise error("workspace.running", f"another process holds the lock {path}") from held
        owner = os.getpid()
        try:
            yield
        finally:
            # Closing the file would not release the lock if another thread has forked meanwhile:
            # the child has the file open. The child itself must not release it.
            if os.getpid() == owner:
                fcntl.flock(file, fcntl.LOCK_UN)
