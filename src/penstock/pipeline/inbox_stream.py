"""A workspace's inbox into its tables: what ``penstock run`` runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery

from penstock.documents import Limits
from penstock.mediation import UnknownSchema
from penstock.pipeline import spark_schemas
from penstock.pipeline.backfill import Backfill
from penstock.pipeline.delivery_stream import BatchDelivery, start_stream
from penstock.pipeline.document_matching import Mode
from penstock.workspace import Workspace
from penstock.workspace.batch_records import StreamRecord, stream_of
from penstock.workspace.delta import dataset_of
from penstock.workspace.pipeline_tables import Tables

NEVER: Final = "36500d"
"""Spark's file source forgets, and then ignores, files older than a week by default; a document
that waited that long is still to be delivered."""

FILES_PER_BATCH: Final = 16
"""Inbox files that one micro-batch takes at most; their size is bounded where they are written."""


@dataclass(frozen=True, slots=True)
class WorkspaceVersions:
    """Gives the current version of a workspace, wherever the micro-batches are run."""

    path: str

    def __call__(self) -> Sequence[str]:
        """The version, written first if the subscriptions changed."""
        with Workspace.open(self.path) as workspace:
            return [workspace.current_version()]


@dataclass(frozen=True, slots=True)
class WorkspaceMappings:
    """Gives the current mappings of a workspace, wherever the micro-batches are run."""

    path: str
    unknown_schema: UnknownSchema

    def __call__(self) -> str:
        """The URI of their file, written first if something was registered."""
        with Workspace.open(self.path) as workspace:
            return workspace.mediation.current(unknown_schema=self.unknown_schema)


def run_workspace(
    spark: SparkSession,
    workspace: Workspace,
    *,
    follow_seconds: float | None = None,
    unknown_schema: UnknownSchema = "refuse",
    mode: Mode = "PERMISSIVE",
    limits: Limits | None = None,
    files_per_batch: int | None = None,
) -> StreamingQuery:
    """Start delivering what is in a workspace's inbox.

    Parameters
    ----------
    spark
        The session, classic or Connect.
    workspace
        Its folder must be readable, under the same path, by the driver and all workers.
    follow_seconds
        Look for new documents so often; by default the inbox is drained and the stream ends.
    unknown_schema
        What becomes of a document whose header names a schema that nobody registered: ``refuse``
        makes it a dead letter, ``as-is`` matches it as it is.
    mode, limits
        As for :func:`~penstock.pipeline.delivery.deliver`.
    files_per_batch
        Inbox files that one micro-batch takes at most; :data:`FILES_PER_BATCH` by default.

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
    tables = workspace.tables
    tables.create()
    stream = stream_of_workspace(workspace)
    delivery = BatchDelivery(
        versions=WorkspaceVersions(str(workspace.path)),
        tables=tables,
        records=str(workspace.batches),
        stream=stream.stream,
        mappings=WorkspaceMappings(str(workspace.path), unknown_schema),
        mode=mode,
        limits=limits,
        before=Backfill(str(workspace.path), stream.stream, limits),
    )
    documents = read_inbox(
        spark, workspace.inbox.folder, files_per_batch=files_per_batch or FILES_PER_BATCH
    )
    return start_stream(
        documents.where(f.col("sequence") > stream.after),
        delivery,
        checkpoint=checkpoint_of(workspace),
        follow_seconds=follow_seconds,
    )


def checkpoint_of(workspace: Workspace) -> Path:
    """Where Spark keeps how far the inbox was delivered."""
    return workspace.checkpoints / "deliveries"


def stream_of_workspace(workspace: Workspace) -> StreamRecord:
    """The stream of a workspace's inbox."""
    return stream_of(checkpoint_of(workspace), lambda: last_sequence(workspace.tables))


def read_inbox(spark: SparkSession, folder: Path, *, files_per_batch: int) -> DataFrame:
    """The documents of an inbox as a stream, in publishing order."""
    return (
        spark.readStream.schema(spark_schemas.DOCUMENTS)
        .option("maxFilesPerTrigger", files_per_batch)
        .option("maxFileAge", NEVER)
        .parquet(str(folder))
    )


def last_sequence(tables: Tables) -> int:
    """The greatest sequence number that some stream has dealt with; -1 where there is none."""
    counts = dataset_of(tables.counts).to_table(columns=["last_sequence"])
    last: int | None = pc.max(counts.column("last_sequence")).as_py()
    return -1 if last is None else last
