"""How the process of a command ends."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterator


@contextlib.contextmanager
def leaving() -> Iterator[None]:
    """End the process with what was done inside, whatever other threads are at.

    Spark calls back in daemon threads. Such a thread, coming back from native code while the
    interpreter is being taken down, crashes the process (seen with delta-rs), and the exit code is
    a signal's. So where other threads are left, the interpreter is not taken down at all: what
    was promised is on disk by then, and a JVM ends when its standard input does.
    """
    try:
        yield
    except SystemExit as end:
        if threading.active_count() == 1 or not isinstance(end.code, int | None):
            raise
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # nobody reads any more
                stream.flush()
        os._exit(end.code or 0)
