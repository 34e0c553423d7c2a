"""What matching adds to a process's memory, measured in a process of its own.

In the process that built an index, memory that building freed would be taken again by matching, and
nothing would show.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from penstock.lab.bench.measure import resident_bytes
from penstock.matching import SubscriptionIndex


def memory_of_matching(index: Path, documents: Sequence[bytes]) -> int:
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
