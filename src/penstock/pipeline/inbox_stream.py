"""Delivers the documents of a workspace's inbox as a stream."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.mediation import UnknownSchema
from penstock.pipeline.backfill import Backfill
from penstock.pipeline.delivery_stream import BatchDelivery, start_stream
from penstock.pipeline.file_stream_upgrade import complete_file_stream
from penstock.pipeline.inbox_batches import InboxBatches
from penstock.pipeline.inbox_source import InboxSourceOptions, load_inbox
from penstock.pipeline.limits import INBOX_BATCH_DOCUMENTS
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import Workspace
from penstock.workspace.batch_records import StreamRecord, get_or_create_stream
from penstock.workspace.delta import open_dataset
from penstock.workspace.index_versions import split_version
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_reader import last_published


@dataclass(frozen=True, slots=True)
class WorkspaceVersions:
    """Returns the current index version of a workspace. Plain values, so it can be pickled."""

    path: str
    shards: int = 1

    def __call__(self) -> Sequence[str]:
        """The version or its shards, which are written first if subscriptions changed."""
        with Workspace.open(self.path) as workspace:
            version = workspace.current_version()
        return [version] if self.shards == 1 else _shards_of(version, self.shards)


@lru_cache(maxsize=1)
def _shards_of(version: str, shards: int) -> tuple[str, ...]:
    return tuple(split_version(version, shards))


@dataclass(frozen=True, slots=True)
class WorkspaceMappings:
    """Returns the current mappings of a workspace. Plain values, so it can be pickled."""

    path: str
    unknown_schema: UnknownSchema

    def __call__(self) -> str:
        """The URI of the mappings, which are written first if they changed."""
        with Workspace.open(self.path) as workspace:
            return workspace.mediation.current(unknown_schema=self.unknown_schema)


def run_workspace(
    spark: SparkSession, workspace: Workspace, config: RunConfig | None = None
) -> StreamingQuery:
    """Start delivering the documents in a workspace's inbox.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    workspace
        Its folder must be readable under the same path by the driver and all workers.
    config
        How documents are matched and delivered. By default the stream ends when the inbox is empty.

    Raises
    ------
    WorkspaceError
        ``workspace.running``: another stream delivers this workspace's inbox, here or in another
        process.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.documents import Document, Header
    >>> from penstock.workspace import StoredSubscription
    >>> wanted = StoredSubscription(id="cheap", subscriber="anna", query="//price[. < 10]")
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     added = workspace.subscriptions.add(wanted)
    ...     published = workspace.publish([Document(b"<price>7</price>", Header(publisher="me"))])
    ...     run_workspace(spark, workspace).awaitTermination()
    ...     workspace.mailbox("anna").deliveries().num_rows
    1
    """
    lock = contextlib.ExitStack()
    path = str(workspace.path)
    _release_if_ended(path)
    lock.enter_context(workspace.lock("run", wait=False))
    try:
        query = start_inbox_stream(spark, workspace, config or RunConfig())
    except BaseException:
        lock.close()
        raise
    _running[path] = query, lock
    thread = threading.Thread(target=_release_at_end, args=(path, query), daemon=True)
    thread.start()
    return query


_running: dict[str, tuple[StreamingQuery, contextlib.ExitStack]] = {}
"""The streams that :func:`run_workspace` started in this process, with their locks."""

_running_lock = threading.Lock()


def _release_at_end(path: str, query: StreamingQuery) -> None:
    """Release the lock of a stream when it ends, so that other processes can run the workspace."""
    with contextlib.suppress(Exception):  # its failure is the caller's to handle
        query.awaitTermination()
    with _running_lock:
        if path in _running and _running[path][0] is query:
            _running.pop(path)[1].close()


def _release_if_ended(path: str) -> None:
    """Release the lock of a stream that has ended just now."""
    with _running_lock:
        if path not in _running:
            return
        query, lock = _running[path]
        is_active = False
        with contextlib.suppress(Exception):  # its session may be gone
            is_active = query.isActive
        if not is_active:
            del _running[path]
            lock.close()


def start_inbox_stream(
    spark: SparkSession, workspace: Workspace, config: RunConfig
) -> StreamingQuery:
    """Start delivering a workspace's inbox; the caller holds the workspace's lock ``run``."""
    tables = workspace.tables
    tables.create()
    complete_earlier_stream(spark, workspace, config)
    stream = inbox_stream(workspace)
    path, checkpoint = str(workspace.path), inbox_checkpoint(workspace)
    after = max(stream.after, 0)  # the inbox counts from one
    # Shards are copies of rows, which Spark makes.
    journal = InboxBatches(path, str(checkpoint), after) if config.shards == 1 else None
    delivery = BatchDelivery(
        versions=WorkspaceVersions(path, config.shards),
        tables=tables,
        records=str(workspace.batches),
        stream=stream.stream,
        mappings=WorkspaceMappings(path, config.unknown_schema),
        config=config,
        in_publishing_order=True,
        before=Backfill(path, stream.stream, config.limits),
        journal=journal,
    )
    options = InboxSourceOptions(
        workspace=path,
        after=after,
        as_range=journal is not None,
        batch_documents=config.documents_per_batch or INBOX_BATCH_DOCUMENTS,
    )
    return start_stream(
        load_inbox(spark.readStream, options, spark),
        delivery,
        checkpoint=checkpoint,
        follow_seconds=config.poll_seconds if config.follow else None,
    )


def complete_earlier_stream(spark: SparkSession, workspace: Workspace, config: RunConfig) -> None:
    """Complete what an older version of Penstock began."""
    path = str(workspace.path)
    versions = WorkspaceVersions(path, config.shards)
    mappings = WorkspaceMappings(path, config.unknown_schema)
    complete_file_stream(spark, workspace, config, versions, mappings)


def inbox_checkpoint(workspace: Workspace) -> Path:
    """The folder of the checkpoint of the inbox's stream."""
    return workspace.checkpoints / "inbox"


def inbox_stream(workspace: Workspace) -> StreamRecord:
    """The identity of the inbox's stream."""
    return get_or_create_stream(
        inbox_checkpoint(workspace), lambda: last_sequence(workspace.tables)
    )


def last_sequence(tables: Tables) -> int:
    """The last sequence number of a published document that is processed; -1 if there is none."""
    counts = open_dataset(tables.counts).to_table(columns=["last_sequence"])
    last = last_published(counts)
    return -1 if last is None else last
