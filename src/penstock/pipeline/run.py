"""One run of a workspace's pipeline: a session, a stream, its progress, and how it ends."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from deltalake.exceptions import DeltaError
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.documents import Limits
from penstock.errors import PenstockError, error
from penstock.mediation import UnknownSchema
from penstock.pipeline.backfill import Backfill
from penstock.pipeline.document_matching import Mode
from penstock.pipeline.inbox_stream import run_workspace, stream_of_workspace
from penstock.pipeline.progress import BatchProgress, ProgressListener
from penstock.pipeline.session import JAVA_FAILURES, JVM_LOST, what_java_said
from penstock.workspace import Workspace
from penstock.workspace.compaction import compact

LAST_WORDS_SECONDS_MAX: Final = 10
"""How long the end of a run waits for Spark to tell of the last batches."""

COMPACT_LOOKS: Final = 60
"""After so many looks a run that follows also looks for small files to merge."""

LOOK_SECONDS: Final = 1
"""How often a run that follows looks for new documents and for past ones that are wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a workspace's pipeline runs."""

    follow: bool = False
    unknown_schema: UnknownSchema = "refuse"
    mode: Mode = "PERMISSIVE"
    limits: Limits | None = None
    files_per_batch: int | None = None


def run(
    spark: SparkSession,
    workspace: Workspace,
    options: RunOptions,
    tell: Callable[[BatchProgress], None],
) -> None:
    """Deliver what is in the inbox, and, following, what will be, until interrupted.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: another process does the same; ``workspace.full``: the disk is.
    PipelineFailure
        ``pipeline.failed``: the stream stopped for another reason.
    """
    with workspace.lock("run", wait=False), _failures():
        workspace.tables.create()
        stream = stream_of_workspace(workspace)
        backfill = Backfill(str(workspace.path), stream.stream, options.limits)
        listener = ProgressListener(
            workspace.tables, stream.stream, tell, waiting=workspace.inbox.count_after
        )
        with _listening(spark, listener):
            query = run_workspace(
                spark,
                workspace,
                follow_seconds=LOOK_SECONDS if options.follow else None,
                unknown_schema=options.unknown_schema,
                mode=options.mode,
                limits=options.limits,
                files_per_batch=options.files_per_batch,
            )
            with _ending(query, listener):
                for look in itertools.count(1):
                    ended = query.awaitTermination(LOOK_SECONDS)
                    backfill(spark)
                    if ended or look % COMPACT_LOOKS == 0:
                        compact(workspace.tables)
                    if ended:
                        return


@contextlib.contextmanager
def _ending(query: StreamingQuery, listener: ProgressListener) -> Iterator[None]:
    try:
        yield
    finally:
        if query.isActive:
            query.stop()
        listener.wait_for_the_end(LAST_WORDS_SECONDS_MAX)


@contextlib.contextmanager
def _listening(spark: SparkSession, listener: ProgressListener) -> Iterator[None]:
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.streams.removeListener(listener)


@contextlib.contextmanager
def _failures() -> Iterator[None]:
    """Tell a failure of Spark's as an error of ours, where it has a cause that we know."""
    try:
        yield
    except JAVA_FAILURES as failure:
        raise told_as(what_java_said(failure)) from failure
    except JVM_LOST as failure:
        raise error("pipeline.failed", "the connection to Spark's JVM is lost") from failure
    except (DeltaError, OSError) as failure:
        raise told_as(str(failure)) from failure


def told_as(message: str) -> PenstockError:
    """The error that stands for a failure of Spark's."""
    no_room = os.strerror(errno.ENOSPC)
    if no_room in message or "workspace.full" in message:
        return error("workspace.full", f"the pipeline stopped: {no_room.lower()}")
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith("penstock.")]
    return error("pipeline.failed", (own or lines or ["there is no message"])[-1 if own else 0])
