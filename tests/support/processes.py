"""The processes of a session, as Linux tells of them, and an end to all of them."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process that was there a moment ago."""

    pid: int
    parent: int
    session: int
    command: str


def processes_of(session: int) -> list[Process]:
    """The processes of a session, without those that are dead and only wait to be collected."""
    return [process for process in _all() if process.session == session]


def kill(pid: int) -> None:
    """End a process at once, so that it can do nothing any more; it may be gone already."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_session(session: int) -> None:
    """End all processes of a session, also those that are started meanwhile."""
    for _ in range(100):
        found = processes_of(session)
        if not found:
            return
        for process in found:
            kill(process.pid)
        time.sleep(0.05)
    raise AssertionError(f"processes that cannot be ended: {found}")


def _all() -> Iterator[Process]:
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):  # it ended meanwhile
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
                # The name in brackets may hold anything, also brackets.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                if fields[0] not in "ZX":
                    yield Process(int(folder.name), int(fields[1]), int(fields[3]), command)
