"""Delivers past documents to subscriptions that request a backfill."""

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
from penstock.pipeline.run_config import RunConfig
from penstock.workspace import Workspace
from penstock.workspace.batch_records import BatchRecord, BatchRecords
from penstock.workspace.delta import last_committed_batch, open_dataset
from penstock.workspace.index_versions import write_version
from penstock.workspace.pipeline_tables import BACKFILL_PREFIX, Tables
from penstock.workspace.stored_subscription import StoredSubscription, subscriptions_to_table
from penstock.workspace.subscriber_buckets import partitions_of
from penstock.workspace.table_schemas import TIME


@dataclass(frozen=True, slots=True)
class Backfill:
    """Delivers past documents to the subscriptions of a workspace that request them.

    The past is the content of the documents table while no batch is in progress. Every batch that
    is recorded later includes the subscription. Each document is therefore matched once: in the
    backfill or in its batch.
    """

    path: str
    """The workspace's folder."""
    stream: str
    """The stream of the inbox."""
    limits: Limits | None = None

    def __call__(self, spark: SparkSession) -> int:
        """Run the pending backfills; returns for how many subscriptions.

        Does nothing while a batch is in progress; the caller tries again later.
        """
        with Workspace.open(self.path) as workspace, workspace.lock("backfill"):
            if not workspace.subscriptions.backfills_wanted():
                return 0
            tables = workspace.tables
            records = BatchRecords(str(workspace.batches), self.stream)
            # Otherwise a batch could be recorded with older subscriptions in the meantime.
            with records.locked():
                subscriptions = workspace.subscriptions.backfills_wanted()
                committed = last_committed_batch(tables.counts, self.stream)
                files = DeltaTable(tables.documents).file_uris()
                recorded = records.all()
            if recorded and (committed is None or recorded[-1].batch > committed):
                return 0
            for subscription in subscriptions:
                self._fill(spark, workspace, tables, subscription, files)
                workspace.subscriptions.backfill_done(subscription.id)
            return len(subscriptions)

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
        stream = _backfill_stream(subscription)
        record = BatchRecords(str(workspace.batches), stream).get_or_create(
            0,
            lambda: [_write_version(workspace, subscription)],
            # An accepted document is not refused because its schema was withdrawn since.
            lambda: workspace.mediation.current(unknown_schema="as-is"),
        )
        documents = spark.read.schema(spark_schemas.DOCUMENTS).parquet(*files)
        deliver(
            _without_delivered(spark, documents, tables, subscription, record),
            record.versions,
            tables,
            stream=stream,
            batch=record.batch,
            at=record.at,
            mappings=record.mappings,
            log=False,
            config=RunConfig(limits=self.limits),
        )


def _write_version(workspace: Workspace, subscription: StoredSubscription) -> str:
    """Write an index version of one subscription."""
    return write_version(
        str(workspace.indexes),
        subscriptions_to_table([subscription]),
        tokenizer=workspace.tokenizer.read(),
    )


def _backfill_stream(subscription: StoredSubscription) -> str:
    """The stream whose only batch is the backfill of a subscription.

    It depends on the creation time: a subscription that is removed and added again has another.
    """
    identity = f"{subscription.id}\x1f{subscription.created_at}"
    return f"{BACKFILL_PREFIX}{hashlib.sha256(identity.encode()).hexdigest()[:32]}"


def _without_delivered(
    spark: SparkSession,
    documents: DataFrame,
    tables: Tables,
    subscription: StoredSubscription,
    record: BatchRecord,
) -> DataFrame:
    """The documents that no subscription of this name has been delivered.

    Deliveries of this very batch do not count, so that a replay produces the same rows.
    """
    delivered = open_dataset(tables.deliveries).to_table(
        columns=["document"],
        filter=pc.field("bucket").isin(partitions_of(subscription.subscriber))
        & (pc.field("subscriber") == subscription.subscriber)
        & (pc.field("subscription") == subscription.id)
        & (pc.field("delivered_at") != pa.scalar(record.at, TIME)),
    )
    if delivered.num_rows == 0:
        return documents
    # One chunk: Spark ends an Arrow table at its first empty chunk, and loses the rows behind it.
    rows = spark.createDataFrame(delivered.combine_chunks())
    return documents.join(rows, "document", "left_anti")
