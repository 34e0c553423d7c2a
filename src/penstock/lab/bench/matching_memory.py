"""How much matching adds to the memory of a process, measured in a new process.

In the process that built an index, matching would reuse memory that building freed, and the growth
would not show.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from penstock.lab.bench.process_memory import resident_bytes
from penstock.matching import SubscriptionIndex


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
