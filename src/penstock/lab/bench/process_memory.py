"""The memory of a process, and how much matching adds to it, measured in a new process.

In the process that built an index, matching would reuse memory that building freed, and the growth
would not show.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from penstock.matching import SubscriptionIndex


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


def matching_memory(index: Path, documents: Sequence[bytes]) -> int:
    """Bytes by which a new process grows while it matches, after it has loaded the index."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as pool:
        return pool.submit(_grown_by, index, list(documents)).result()


def _grown_by(index: Path, documents: list[bytes]) -> int:
    matcher = SubscriptionIndex.load(index).matcher()
    before = resident_bytes()
    largest = before
    for document in documents:
        matcher.match(document)
        largest = max(largest, resident_bytes())
    return largest - before
