"""Documents that keep coming: each micro-batch delivered, and committed once.

Spark numbers the micro-batches and remembers in its checkpoint which documents belong to each.
Before a batch is matched, the subscriptions and mappings it uses are recorded; a replay after a
failure takes the same documents and the same of both, gives the same, and is committed under the
same number. So what changes takes effect with the next batch, without a restart, and what was
committed is committed once, whatever is killed and when.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.documents import Limits
from penstock.pipeline.delivery import deliver
from penstock.pipeline.document_matching import Mode
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.pipeline_tables import Tables


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchDelivery:
    """Delivers the micro-batches of a stream.

    On Spark Connect it runs in the server's process: it travels there as plain values, and what it
    names must be there.

    Parameters
    ----------
    versions
        Gives the versions that are current when a batch begins.
    tables
        Where to.
    records
        The folder of the batches' records.
    mappings
        Gives the URI of the mappings that are current when a batch begins; without it documents
        are matched as they are.
    stream
        The stream's identity, as old as its checkpoint.
    mode, limits
        As for :func:`~penstock.pipeline.delivery.deliver`.
    before
        Called before each batch that is new, when all before it are committed.
    """

    versions: Callable[[], Sequence[str]]
    tables: Tables
    records: str
    stream: str
    mappings: Callable[[], str] | None = None
    mode: Mode = "PERMISSIVE"
    limits: Limits | None = None
    before: Callable[[SparkSession], object] | None = None

    def __call__(self, documents: DataFrame, batch: int) -> None:
        """Deliver one micro-batch."""
        records = BatchRecords(self.records, self.stream)
        if self.before is not None and not records.has(batch):
            self.before(documents.sparkSession)
        record = records.of(batch, self.versions, self.mappings)
        deliver(
            documents,
            record.versions,
            self.tables,
            stream=self.stream,
            batch=batch,
            at=record.at,
            mappings=record.mappings,
            mode=self.mode,
            limits=self.limits,
        )


def start_stream(
    documents: DataFrame,
    delivery: BatchDelivery,
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
        What becomes of each micro-batch.
    checkpoint
        Where Spark keeps how far the stream is.
    follow_seconds
        Look for new documents so often, until stopped; by default what is there is drained, in
        micro-batches bounded as the source says, and the stream ends.

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
