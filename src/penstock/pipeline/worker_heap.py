"""Exempts what a worker process keeps from Python's garbage collection.

Spark's Python workers run a complete collection after every task. Nearly all objects are modules
and functions, which are never garbage: going through them takes 50 ms and more, in each of the two
processes of a task that reads an inbox.
"""

from __future__ import annotations

import functools
import gc


@functools.cache
def freeze_heap() -> None:
    """Exempt the objects that exist now; does nothing if this process has called it before.

    Later objects are collected as usual. Those of the current task would remain if they were part
    of a cycle, but only these, since there is one call per process.
    """
    gc.freeze()
