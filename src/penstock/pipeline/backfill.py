"""Past documents for subscriptions that asked for them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.documents import Limits
from penstock.pipeline import spark_schemas
from penstock.pipeline.delivery import deliver
from penstock.workspace import Workspace
from penstock.workspace.batch_records import BatchRecord, BatchRecords
from penstock.workspace.delta import dataset_of, last_batch
from penstock.workspace.index_versions import write_version
from penstock.workspace.pipeline_tables import BACKFILL, Tables
from penstock.workspace.stored_subscription import StoredSubscription, as_table
from penstock.workspace.subscriber_buckets import bucket_of
from penstock.workspace.table_schemas import TIME


@dataclass(frozen=True, slots=True)
class Backfill:
    """Delivers the documents of the past to the subscriptions of a workspace that want them.

    The past is what the documents table holds while no batch is under way. Every batch that is
    recorded later has the subscription among those it matches. So each document is met once: here,
    or in its batch.
    """

    path: str
    """The workspace's folder."""
    stream: str
    """The stream of the inbox's batches."""
    limits: Limits | None = None

    def __call__(self, spark: SparkSession) -> int:
        """Fill what can be filled now; how many subscriptions were filled.

        While a batch is under way nothing is: who asks comes again.
        """
        with Workspace.open(self.path) as workspace, workspace.lock("backfill"):
            if not workspace.subscriptions.backfills_wanted():
                return 0
            tables = workspace.tables
            records = BatchRecords(str(workspace.batches), self.stream)
            # Else a batch could be recorded, with subscriptions from before, while we look.
            with records.held():
                wanted = workspace.subscriptions.backfills_wanted()
                committed = last_batch(tables.counts, self.stream)
                past = DeltaTable(tables.documents).file_uris()
                recorded = records.all()
            if recorded and (committed is None or recorded[-1].batch > committed):
                return 0
            for subscription in wanted:
                self._fill(spark, workspace, tables, subscription, past)
                workspace.subscriptions.backfill_done(subscription.id)
            return len(wanted)

    def _fill(
        self,
        spark: SparkSession,
        workspace: Workspace,
        tables: Tables,
        subscription: StoredSubscription,
        files: list[str],
    ) -> None:
        if not files:
            return
        stream = _stream_of_the_past(subscription)
        record = BatchRecords(str(workspace.batches), stream).of(
            0,
            lambda: [write_version(str(workspace.indexes), as_table([subscription]))],
            # What was accepted once is not refused for a schema that was forgotten since.
            lambda: workspace.mediation.current(unknown_schema="as-is"),
        )
        documents = spark.read.schema(spark_schemas.DOCUMENTS).parquet(*files)
        deliver(
            _not_delivered(spark, documents, tables, subscription, record),
            record.versions,
            tables,
            stream=stream,
            batch=record.batch,
            at=record.at,
            mappings=record.mappings,
            limits=self.limits,
            log=False,
        )


def _stream_of_the_past(subscription: StoredSubscription) -> str:
    """The stream whose only batch is the past of a subscription; one made anew has another."""
    made = f"{subscription.id}\x1f{subscription.created_at}"
    return f"{BACKFILL}{hashlib.sha256(made.encode()).hexdigest()[:32]}"


def _not_delivered(
    spark: SparkSession,
    documents: DataFrame,
    tables: Tables,
    subscription: StoredSubscription,
    record: BatchRecord,
) -> DataFrame:
    """Without the documents that the subscription, or an earlier one of the name, was given.

    What this very batch gave, before it was interrupted, stays: a replay gives the same again.
    """
    known = dataset_of(tables.deliveries).to_table(
        columns=["document"],
        filter=(pc.field("bucket") == bucket_of(subscription.subscriber))
        & (pc.field("subscription") == subscription.id)
        & (pc.field("delivered_at") != pa.scalar(record.at, TIME)),
    )
    if known.num_rows == 0:
        return documents
    return documents.join(spark.createDataFrame(known), "document", "left_anti")
