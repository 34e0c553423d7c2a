"""How far a stream is: Spark's own report of each micro-batch, joined with what became of it."""

from __future__ import annotations

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
from penstock.workspace.delta import dataset_of
from penstock.workspace.pipeline_tables import Tables

COUNTED: Final = tuple(field.name for field in fields(BatchCounts))
"""The columns of the counts table that say what became of documents."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchProgress:
    """One micro-batch that was committed."""

    batch: int
    counts: BatchCounts
    seconds: float
    """From looking for documents to the last commit."""
    waiting: int | None
    """The lag: documents that are published and in no batch yet; ``None`` where nobody knows."""

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
    waiting
        Says how many documents are published after a sequence number. Spark's own sources of files
        do not tell how much they have not given yet.
    """

    def __init__(
        self,
        tables: Tables,
        stream: str,
        tell: Callable[[BatchProgress], None],
        *,
        waiting: Callable[[int], int] | None = None,
    ) -> None:
        super().__init__()
        self._waiting = waiting
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
        row = counts_of(self._tables, self._stream, progress.batchId)
        if progress.numInputRows == 0 or row is None:
            return
        last_sequence = row.pop("last_sequence")
        self._tell(
            BatchProgress(
                batch=progress.batchId,
                counts=BatchCounts(**row),
                seconds=progress.batchDuration / 1000,
                waiting=None if self._waiting is None else self._waiting(last_sequence),
            )
        )

    def onQueryIdle(self, event: QueryIdleEvent) -> None:  # noqa: N802
        """There are no new documents."""

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:  # noqa: N802
        """All that will be told was told."""
        self._ended.set()


def counts_of(tables: Tables, stream: str, batch: int) -> dict[str, int] | None:
    """What became of a batch; ``None`` where it is not committed."""
    found = dataset_of(tables.counts).to_table(
        columns=[*COUNTED, "last_sequence"],
        filter=(pc.field("stream") == stream) & (pc.field("batch") == batch),
    )
    rows: list[dict[str, int]] = found.to_pylist()
    if not rows:
        return None
    return rows[0] | {"unknown_elements": rows[0]["unknown_elements"] or 0}
