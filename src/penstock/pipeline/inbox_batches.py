"""The documents of a micro-batch of the inbox, for a job whose tasks read the journal.

The data source of the inbox returns only the range of a micro-batch. The driver reads the same
range from Spark's offset log, because a job for one row would delay every batch by a tenth of a
second; only if that fails, it collects the row.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from penstock.pipeline.inbox_source import SEQUENCE
from penstock.pipeline.inbox_tasks import plan_tasks
from penstock.pipeline.journal_tasks import JournalTasks
from penstock.pipeline.offset_log import read_offset
from penstock.workspace.inbox import Inbox
from penstock.workspace.journal_scanner import JournalScanner


@dataclass(frozen=True, slots=True)
class InboxBatches:
    """Plans the tasks of a micro-batch. Plain values, so it can be pickled."""

    workspace: str
    checkpoint: str
    after: int
    """The sequence number before the first document of the stream."""

    def __call__(self, documents: DataFrame, batch: int) -> JournalTasks:
        """The tasks of a batch; ``documents`` is what the data source returns for it."""
        after, upto = self.range(batch) or _collected(documents)
        with contextlib.closing(Inbox(Path(self.workspace))) as inbox:
            scanner = _scanner(str(inbox.folder))
            slots = _slots(documents.sparkSession)
            return JournalTasks.of(plan_tasks(inbox, scanner, after, upto, slots=slots))

    def range(self, batch: int) -> tuple[int, int] | None:
        """The range of a batch in the offset log; ``None`` if it cannot be read there."""
        checkpoint = Path(self.checkpoint)
        before = read_offset(checkpoint, batch - 1) if batch else {SEQUENCE: self.after}
        end = read_offset(checkpoint, batch)
        if before is None or end is None:
            return None
        after, upto = before.get(SEQUENCE), end.get(SEQUENCE)
        return (after, upto) if isinstance(after, int) and isinstance(upto, int) else None


def _collected(documents: DataFrame) -> tuple[int, int]:
    ((after, upto),) = documents.collect()
    return after, upto


@lru_cache(maxsize=4)
def _scanner(folder: str) -> JournalScanner:
    """The scanner of a journal, which continues where the last batch ended."""
    return JournalScanner(Path(folder))


def _slots(spark: SparkSession) -> int | None:
    """How many tasks run at a time; ``None`` on Spark Connect, which does not state it."""
    context = getattr(spark, "sparkContext", None)
    return None if context is None else int(context.defaultParallelism)
