"""Ends the process of a command safely while background threads are still running."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator
from typing import Final

BROKEN_PIPE: Final = 128 + signal.SIGPIPE
"""Exit code when the reader of stdout goes away, as shells report a process that SIGPIPE ended."""


@contextlib.contextmanager
def quiet_broken_pipe() -> Iterator[None]:
    """Ends the process with :data:`BROKEN_PIPE` and no message if stdout was closed early."""
    try:
        yield
    finally:
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()  # the rest of the buffer may be the first to find the pipe closed
            except BrokenPipeError:
                # The interpreter flushes again when it exits.
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
                sys.exit(BROKEN_PIPE)


@contextlib.contextmanager
def immediate_exit() -> Iterator[None]:
    """Turns ``SystemExit`` into an immediate process exit if other threads are still running.

    Spark runs Python callbacks in daemon threads. If such a thread returns from native code during
    interpreter shutdown, it crashes the process (observed with delta-rs), and the exit code becomes
    that of a signal. Skipping the shutdown is safe: everything a command promises is on disk by
    then, and a JVM exits when its standard input closes.
    """
    try:
        yield
    except SystemExit as end:
        if threading.active_count() == 1 or not isinstance(end.code, int | None):
            raise
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError):  # the reader has closed the pipe
                stream.flush()
        os._exit(end.code or 0)
