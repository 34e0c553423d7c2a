"""Progress of a stream: Spark's report of each micro-batch, joined with the batch's counts."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Final

import pyarrow.compute as pc
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock.pipeline.delivery import BatchCounts
from penstock.workspace.delta import open_dataset
from penstock.workspace.pipeline_tables import Tables

COUNT_COLUMNS: Final = tuple(field.name for field in fields(BatchCounts))
"""The columns of the counts table that :class:`BatchCounts` has."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """A committed micro-batch."""

    batch: int
    counts: BatchCounts
    seconds: float
    """Duration of the micro-batch, from listing documents to the last commit."""
    waiting: int | None
    """The lag: documents that are published but in no batch yet; ``None`` if unknown."""

    @property
    def megabytes_per_second(self) -> float:
        """The throughput of the batch."""
        return self.counts.bytes / 1e6 / self.seconds if self.seconds else 0.0


class ProgressListener(StreamingQueryListener):
    """Calls a function for each committed micro-batch of a stream.

    Parameters
    ----------
    tables
        The tables that the stream writes.
    stream
        The stream's identity.
    on_batch
        Called for each micro-batch, from one of Spark's threads.
    waiting
        Returns the number of documents published after a sequence number. Spark's file sources do
        not report their backlog.
    """

    def __init__(
        self,
        tables: Tables,
        stream: str,
        on_batch: Callable[[BatchProgress], None],
        *,
        waiting: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__()
        self._waiting = waiting
        self._tables = tables
        self._stream = stream
        self._on_batch = on_batch
        self._terminated = threading.Event()

    def wait_for_termination(self, seconds: float) -> None:
        """Wait until Spark has reported the stream's end, which it does asynchronously."""
        self._terminated.wait(seconds)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """Report a micro-batch, unless it was empty.

        Spark does not count the documents that tasks read from the journal.
        """
        progress = event.progress
        row = read_counts(self._tables, self._stream, progress.batchId)
        if row is None:
            return
        last_sequence = row.pop("last_sequence")
        done = BatchProgress(
            batch=progress.batchId,
            counts=BatchCounts(**row),
            seconds=progress.batchDuration / 1000,
            waiting=None if self._waiting is None else self._waiting(last_sequence),
        )
        logger.info("batch %d: %s in %.3f s", done.batch, done.counts, done.seconds)
        self._on_batch(done)

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """Do nothing."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """Note that no more events will follow."""
        self._terminated.set()


def read_counts(tables: Tables, stream: str, batch: int) -> dict[str, int] | None:
    """The counts of a batch; ``None`` if it is not committed."""
    found = open_dataset(tables.counts).to_table(
        columns=[*COUNT_COLUMNS, "last_sequence"],
        filter=(pc.field("stream") == stream) & (pc.field("batch") == batch),
    )
    rows: list[dict[str, int]] = found.to_pylist()
    if not rows:
        return None
    later_columns = ("unknown_elements", "set_aside", "fragments_omitted")
    return rows[0] | {name: rows[0][name] or 0 for name in later_columns}
