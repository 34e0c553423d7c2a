"""How far a stream is: Spark's own report of each micro-batch, joined with what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import pyarrow.compute as pc
from pyspark.sql.streaming.listener import (
    QueryIdleEvent,
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
)

from penstock.pipeline.delivering import BatchCounts
from penstock.workspace.delta import dataset_of
from penstock.workspace.tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """One micro-batch that was committed."""

    batch: int
    counts: BatchCounts
    seconds: float
    """From looking for documents to the last commit."""
    waiting_bytes: int
    """The lag: bytes of documents that the source knows of and has not given yet."""

    @property
    def megabytes_per_second(self) -> float:
        """How fast the documents of this batch went through."""
        return self.counts.bytes / 1e6 / self.seconds if self.seconds else 0.0


class ProgressListener(StreamingQueryListener):
    """Tells of each micro-batch of a stream.

    Parameters
    ----------
    tables
        Where the stream delivers to.
    stream
        Its identity.
    tell
        Called for each micro-batch, from a thread of Spark's.
    """

    def __init__(self, tables: Tables, stream: str, tell: Callable[[BatchProgress], None]) -> None:
        super().__init__()
        self._tables = tables
        self._stream = stream
        self._tell = tell
        self._ended = threading.Event()

    def wait_for_the_end(self, seconds: float) -> None:
        """Wait until the end of the stream was told: Spark tells later than it happens."""
        self._ended.wait(seconds)

    def onQueryStarted(self, event: QueryStartedEvent) -> None:  # noqa: N802
        """Nothing has happened yet."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:  # noqa: N802
        """A micro-batch ended, or there was none for a while."""
        progress = event.progress
        counts = counts_of(self._tables, self._stream, progress.batchId)
        if progress.numInputRows == 0 or counts is None:
            return
        waiting = [source.metrics.get("numBytesOutstanding", "0") for source in progress.sources]
        self._tell(
            BatchProgress(
                batch=progress.batchId,
                counts=counts,
                seconds=progress.batchDuration / 1000,
                waiting_bytes=sum(int(size) for size in waiting),
            )
        )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """There are no new documents."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """All that will be told was told."""
        self._ended.set()


def counts_of(tables: Tables, stream: str, batch: int) -> BatchCounts | None:
    """What became of a batch; ``None`` where it is not committed."""
    found = dataset_of(tables.counts).to_table(
        columns=["documents", "matched", "unmatched", "dead", "deliveries", "bytes"],
        filter=(pc.field("stream") == stream) & (pc.field("batch") == batch),
    )
    rows = found.to_pylist()
    return BatchCounts(**rows[0]) if rows else None
