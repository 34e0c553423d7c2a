"""What matching adds to a process's memory, measured in a process of its own.

In the process that built an index, memory that building freed would be taken again by matching, and
nothing would show.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from penstock.matching import SubscriptionIndex


def resident_bytes() -> int:
    """What the process itself holds in memory now; 0 where the system does not tell.

    Mapped files do not count: they are the system's cache, and it takes them back when it must.
    """
    try:
        text = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return 0
    for line in text.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def matching_memory(index: Path, documents: Sequence[bytes]) -> int:
    """Bytes by which a new process grows, from the loaded index to the last document."""
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
