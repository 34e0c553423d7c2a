"""Implements ``penstock run``: the inbox stream, backfills, maintenance and progress."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import threading
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockError, error
from penstock.pipeline.backfill import Backfill
from penstock.pipeline.batch_progress_files import BatchProgressFiles
from penstock.pipeline.inbox_stream import (
    complete_earlier_stream,
    inbox_stream,
    start_inbox_stream,
)
from penstock.pipeline.limits import WORKER_START_RETRIES_MAX
from penstock.pipeline.progress import BatchProgress, ProgressListener
from penstock.pipeline.run_config import RunConfig
from penstock.pipeline.session import (
    JAVA_FAILURES,
    JVM_LOST,
    is_worker_start_failure,
    java_message,
)
from penstock.workspace import Workspace
from penstock.workspace.compaction import compact
from penstock.workspace.limits import MAINTENANCE_SECONDS
from penstock.workspace.maintenance import maintain
from penstock.workspace.timestamps import utc_now

LAST_EVENT_SECONDS_MAX: Final = 10
"""Seconds that the end of a run waits for Spark to report the last batches."""

DAMAGED_INBOX: Final = "journal.damaged"
"""The code of the error of a task whose inbox file is damaged."""

CHECK_SECONDS: Final = 1
"""Interval at which a run checks for pending backfills and for the end of the stream."""

CHECKS_PER_COMPACTION: Final = 60
"""Number of checks between two compactions."""

CHECKS_PER_MAINTENANCE: Final = MAINTENANCE_SECONDS // CHECK_SECONDS
"""Number of checks between two removals of data that is no longer needed."""


def run(
    spark: SparkSession,
    workspace: Workspace,
    config: RunConfig,
    on_batch: Callable[[BatchProgress], None],
    *,
    on_progress: Callable[[int], None] | None = None,
    stop: threading.Event | None = None,
) -> None:
    """Deliver the documents in the inbox and, if following, new ones until stopped.

    The caller holds the workspace's lock ``run``, which it takes before it starts Spark.

    Parameters
    ----------
    spark, workspace, config
        As for :func:`~penstock.pipeline.run_workspace`.
    on_batch
        Called for each committed batch.
    on_progress
        Called every second with the number of documents matched in the current batch.
    stop
        Ends the run: a batch in progress is abandoned, and repeated by the next run.

    Raises
    ------
    WorkspaceError
        ``workspace.full``: the disk is full.
    PipelineFailure
        ``pipeline.failed``: the stream failed for another reason.
    """
    with _translate_failures():
        workspace.tables.create()
        complete_earlier_stream(spark, workspace, config)
        observers = _Observers(on_batch, on_progress or (lambda _: None))
        for attempt in itertools.count(1):
            try:
                _run_once(spark, workspace, config, observers, stop or threading.Event())
                return
            except JAVA_FAILURES as failure:
                # Nothing is lost by starting again: the stream continues with the same batch. An
                # inbox file that was damaged after the batch was planned is then set aside.
                is_temporary = is_worker_start_failure(failure) or DAMAGED_INBOX in str(failure)
                if attempt > WORKER_START_RETRIES_MAX or not is_temporary:
                    raise


class _Observers(NamedTuple):
    """What is called while a stream runs."""

    on_batch: Callable[[BatchProgress], None]
    on_progress: Callable[[int], None]


def _run_once(
    spark: SparkSession,
    workspace: Workspace,
    config: RunConfig,
    observers: _Observers,
    stop: threading.Event,
) -> None:
    stream = inbox_stream(workspace)
    backfill = Backfill(str(workspace.path), stream.stream, config.limits)
    listener = ProgressListener(
        workspace.tables, stream.stream, observers.on_batch, waiting=workspace.inbox.count_after
    )
    progress = BatchProgressFiles.beside(workspace.tables, stream.stream)
    with _registered(spark, listener):
        query = start_inbox_stream(spark, workspace, config)
        with _stopped_at_exit(query, listener):
            for check in itertools.count(1):
                ended = query.awaitTermination(CHECK_SECONDS)
                if stop.is_set():
                    return
                observers.on_progress(progress.documents())
                backfill(spark)
                if ended or check % CHECKS_PER_COMPACTION == 0:
                    compact(workspace.tables)
                if ended or check % CHECKS_PER_MAINTENANCE == 0:
                    maintain(workspace, now=utc_now())
                if ended:
                    return


@contextlib.contextmanager
def _stopped_at_exit(query: StreamingQuery, listener: ProgressListener) -> Iterator[None]:
    try:
        yield
    finally:
        if query.isActive:
            query.stop()
        listener.wait_for_termination(LAST_EVENT_SECONDS_MAX)


@contextlib.contextmanager
def _registered(spark: SparkSession, listener: ProgressListener) -> Iterator[None]:
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.streams.removeListener(listener)


@contextlib.contextmanager
def _translate_failures() -> Iterator[None]:
    """Translates failures of Spark, Delta and the operating system into Penstock errors."""
    try:
        yield
    except JAVA_FAILURES as failure:
        raise translate_failure(java_message(failure)) from failure
    except JVM_LOST as failure:
        raise error("pipeline.failed", "the connection to Spark's JVM was lost") from failure
    except (DeltaError, OSError) as failure:
        raise translate_failure(str(failure)) from failure


def translate_failure(message: str) -> PenstockError:
    """The Penstock error for the message of a failure."""
    disk_full = os.strerror(errno.ENOSPC)
    if disk_full in message or "workspace.full" in message:
        return error("workspace.full", f"the pipeline stopped: {disk_full.lower()}")
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    # A Python traceback ends with the error; a Java stack trace begins with it.
    own = [line for line in lines if line.startswith("penstock.")]
    if own:
        return error("pipeline.failed", own[-1])
    _, _, traceback = message.partition("Traceback (most recent call last)")
    raised = [line for line in traceback.splitlines()[1:] if line.strip() and line[0] != " "]
    return error("pipeline.failed", (raised or lines or ["no message"])[0])
