"""Delivers a stream of documents, each micro-batch exactly once.

Spark numbers the micro-batches and stores in its checkpoint which documents belong to each. Before
a batch is matched, the index versions and mappings it uses are recorded; a replay after a failure
gets the same documents, versions and mappings, produces the same rows, and is committed under the
same number. Changes of subscriptions and mappings therefore take effect with the next batch,
without a restart, and every batch is committed once, whatever process is killed at whatever time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.pipeline.delivery import deliver
from penstock.pipeline.journal_tasks import JournalTasks
from penstock.pipeline.run_config import RunConfig
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.pipeline_tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivery:
    """Delivers the micro-batches of a stream: the function of ``foreachBatch``.

    On Spark Connect it is pickled and runs in the server's process, which must be able to read the
    paths and URIs it refers to.

    Parameters
    ----------
    versions
        Returns the index versions that are current when a batch starts.
    tables
        The tables to write.
    records
        The folder of batch records.
    mappings
        Returns the URI of the mappings that are current when a batch starts; by default no mappings
        are applied.
    stream
        The stream's identity, which must be new if the checkpoint is new.
    config
        How to handle refused documents, and the limits of documents.
    in_publishing_order
        As for :func:`~penstock.pipeline.delivery.deliver`.
    before
        Called before each new batch, when all earlier batches are committed.
    journal
        Returns the tasks that read the documents of a batch from an inbox's journal, given what
        the source returns for the batch and its number. By default the source returns documents.
    """

    versions: Callable[[], Sequence[str]]
    tables: Tables
    records: str
    stream: str
    mappings: Callable[[], str] | None = None
    config: RunConfig = field(default_factory=RunConfig)
    in_publishing_order: bool = False
    before: Callable[[SparkSession], object] | None = None
    journal: Callable[[DataFrame, int], JournalTasks] | None = None

    def __call__(self, documents: DataFrame, batch: int) -> None:
        """Deliver one micro-batch."""
        records = BatchRecords(self.records, self.stream)
        if self.before is not None and not records.has(batch):
            self.before(documents.sparkSession)
        record = records.get_or_create(batch, self.versions, self.mappings)
        deliver(
            documents,
            record.versions,
            self.tables,
            stream=self.stream,
            batch=batch,
            at=record.at,
            mappings=record.mappings,
            in_publishing_order=self.in_publishing_order,
            config=self.config,
            journal=None if self.journal is None else self.journal(documents, batch),
        )


def start_stream(
    documents: DataFrame,
    delivery: Callable[[DataFrame, int], None],
    *,
    checkpoint: str | Path,
    follow_seconds: float | None = None,
) -> StreamingQuery:
    """Start delivering a stream of documents.

    Parameters
    ----------
    documents
        A streaming DataFrame with the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`.
    delivery
        Delivers each micro-batch: a :class:`BatchDelivery`, or a
        :class:`~penstock.pipeline.RoutedBatchDelivery`.
    checkpoint
        The folder of Spark's checkpoint. If a process is killed while it writes the first offset,
        Spark refuses to start the stream again, unless the session has the setting
        ``spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart=false``, as those of commands.
    follow_seconds
        Look for new documents at this interval until stopped. By default the stream processes the
        available documents, in micro-batches as large as the source allows, and ends.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.pipeline import read_directory
    >>> from penstock.workspace import StoredSubscription, Workspace
    >>> wanted = StoredSubscription(id="cheap", subscriber="anna", query="//price[. < 10]")
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     added = workspace.subscriptions.add(wanted)
    ...     version, tables = workspace.current_version(), workspace.tables
    >>> tables.create()
    >>> folder = Path(tempfile.mkdtemp())
    >>> written = (folder / "a.xml").write_text("<price>7</price>")
    >>> documents = read_directory(spark, str(folder), publisher="me", stream=True)
    >>> delivery = BatchDelivery(
    ...     versions=lambda: [version], tables=tables, records=tempfile.mkdtemp(), stream="prices"
    ... )
    >>> start_stream(documents, delivery, checkpoint=tempfile.mkdtemp()).awaitTermination()
    >>> workspace.mailbox("anna").deliveries().column("subscription").to_pylist()
    ['cheap']
    """
    writer = documents.writeStream.foreachBatch(delivery).option(
        "checkpointLocation", str(checkpoint)
    )
    if follow_seconds is None:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{follow_seconds} seconds").start()
