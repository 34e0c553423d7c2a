"""The memory of this process."""

from __future__ import annotations

from pathlib import Path


def resident_bytes() -> int:
    """Anonymous resident memory of this process; 0 where the system does not report it.

    Mapped files do not count, because the system can reclaim their pages.
    """
    return _status_bytes("RssAnon")


def peak_bytes() -> int:
    """The most resident memory that this process has had; 0 where the system does not report it.

    Unlike the ``ru_maxrss`` of a process, it does not include the process that started it.
    """
    return _status_bytes("VmHWM")


def _status_bytes(name: str) -> int:
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
