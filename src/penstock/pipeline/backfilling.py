"""Past documents for subscriptions that asked for them."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.compute as pc
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from penstock.documents import Limits
from penstock.pipeline import schemas
from penstock.pipeline.delivering import deliver
from penstock.workspace import Workspace
from penstock.workspace.batches import BatchRecords
from penstock.workspace.buckets import bucket_of
from penstock.workspace.delta import last_batch
from penstock.workspace.stored_subscription import StoredSubscription, as_table
from penstock.workspace.tables import BACKFILL, Tables
from penstock.workspace.times import now
from penstock.workspace.versions import write_version


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
            wanted = workspace.subscriptions.backfills_wanted()
            if not wanted:
                return 0
            tables = workspace.tables
            committed = last_batch(tables.counts, self.stream)
            past = DeltaTable(tables.documents)
            records = BatchRecords(str(workspace.batches), self.stream).all()
            if records and (committed is None or records[-1].batch > committed):
                return 0
            for subscription in wanted:
                self._fill(spark, workspace, tables, subscription, past.file_uris())
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
        documents = spark.read.schema(schemas.DOCUMENTS).parquet(*files)
        deliver(
            _not_delivered(spark, documents, tables, subscription),
            write_version(str(workspace.indexes), as_table([subscription])),
            tables,
            stream=f"{BACKFILL}{subscription.id} {subscription.created_at}",
            batch=0,
            at=now(),
            limits=self.limits,
            log=False,
        )


def _not_delivered(
    spark: SparkSession, documents: DataFrame, tables: Tables, subscription: StoredSubscription
) -> DataFrame:
    """Without the documents that an earlier subscription of the same name was given."""
    deliveries = DeltaTable(tables.deliveries).to_pyarrow_dataset()
    known = deliveries.to_table(
        columns=["document"],
        filter=(pc.field("bucket") == bucket_of(subscription.subscriber))
        & (pc.field("subscription") == subscription.id),
    )
    if known.num_rows == 0:
        return documents
    return documents.join(spark.createDataFrame(known), "document", "left_anti")
