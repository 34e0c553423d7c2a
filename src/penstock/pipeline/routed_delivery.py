"""Delivers a batch of documents through a tree of routers: one Spark job, one commit per table.

Routing is that of :mod:`penstock.pipeline.routed_documents`. The first hop also writes the
documents and dead letters. After the last hop, deliveries are partitioned by bucket, written and
committed as those of :func:`~penstock.pipeline.deliver` are.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.pipeline.delivery import BatchCounts, commit_reports, write_deliveries
from penstock.pipeline.document_columns import own_columns
from penstock.pipeline.document_headers import Value
from penstock.pipeline.document_log import DocumentLog
from penstock.pipeline.document_probe import FAILED, ProbeStage
from penstock.pipeline.match_stage import STAGE_ROWS, stage_rows
from penstock.pipeline.quarantine import FailedDocument, Quarantine, QuarantineFile
from penstock.pipeline.quarantined_job import run_with_quarantine
from penstock.pipeline.routed_documents import (
    EntryStage,
    HopStage,
    WholeRoute,
    entered_documents,
    route,
    tree_routing,
)
from penstock.pipeline.router_cache import MATCH_LIST_ALONE
from penstock.pipeline.run_config import RunConfig
from penstock.pipeline.shards import ROW
from penstock.pipeline.write_stage import WriteStage
from penstock.routing import AnnotationKind
from penstock.workspace.batch_records import BatchRecords
from penstock.workspace.commit_positions import next_commit
from penstock.workspace.delta import last_committed_batch
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import (
    CONTENT_DIGEST,
    FRAGMENTS_OMITTED,
    UNKNOWN_ELEMENTS,
)


def deliver_routed(
    documents: DataFrame,
    tree: str,
    tables: Tables,
    *,
    router: Value,
    stream: str,
    batch: int,
    at: datetime,
    mappings: str | None = None,
    annotations: Collection[AnnotationKind | str] = MATCH_LIST_ALONE,
    config: RunConfig | None = None,
) -> BatchCounts | None:
    """Route a batch of documents through a tree of routers, and commit the results exactly once.

    Parameters
    ----------
    documents
        A DataFrame with the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`.
    tree
        The URI of a tree, from :func:`~penstock.pipeline.write_router_tree`.
    tables
        The tables to write; they must exist.
    router
        The router that each document is published at: a name, or an expression over columns.
    stream, batch
        The batch's identity: a batch that was committed is not committed again. The batches of a
        stream must be delivered in ascending order, and a replay must have the same documents,
        ``tree``, ``mappings`` and ``at``.
    at
        The batch's time, which decides which subscriptions have started and not expired.
    mappings
        The URI of the mappings that document headers refer to.
    annotations
        The kinds of annotations that documents carry to the next hop.
    config
        How to handle refused documents, and the limits of documents.

    Returns
    -------
    The batch's counts; ``None`` if the batch was committed before. A document that only a later
    router refuses, by a limit that depends on that router's subscriptions, counts as accepted.

    Examples
    --------
    >>> import tempfile
    >>> from datetime import UTC
    >>> from penstock.pipeline import read_column, write_router_tree
    >>> rows = [("r2", "s1", "ada", "xpath", "//flash"), ("r0", "s2", "ben", "xpath", "/news")]
    >>> columns = "router string, subscription string, subscriber string, kind string, query string"
    >>> wanted = spark.createDataFrame(rows, columns)
    >>> tree = write_router_tree(wanted, [("r0", "r1"), ("r1", "r2")], tempfile.mkdtemp())
    >>> tables = Tables(tempfile.mkdtemp())
    >>> tables.create()
    >>> table = spark.createDataFrame([("<news><flash/></news>",), ("<news>",)], "xml string")
    >>> batch = read_column(spark, table, "xml", publisher="wire")
    >>> noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    >>> counts = deliver_routed(batch, tree, tables, router="r1", stream="s", batch=0, at=noon)
    >>> counts.documents, counts.matched, counts.unmatched, counts.dead, counts.deliveries
    (2, 1, 0, 1, 2)
    >>> deliver_routed(batch, tree, tables, router="r1", stream="s", batch=0, at=noon)
    """
    own_columns(documents.schema)
    last = last_committed_batch(tables.counts, stream)
    if last is not None and batch <= last:
        return None
    config = config or RunConfig()
    stage = HopStage(
        routing=tree_routing(tree, mappings=mappings, limits=config.limits, kinds=annotations),
        at=at,
        config=config,
        log=DocumentLog(
            tables=tables, batch=batch, at=at, keeps_refused=config.mode == "PERMISSIVE"
        ),
    )
    commit = next_commit(tables.deliveries)
    job = _RoutedJob(
        documents=documents,
        router=router,
        stage=stage,
        entry=EntryStage(stream, batch),
        tables=tables,
        batch=batch,
        commit=commit,
    )
    file = QuarantineFile(tables, stream=stream, batch=batch)
    reports = run_with_quarantine(job, file, stream)
    counts = commit_reports(reports, [tree], tables, stream=stream, batch=batch, commit=commit)
    file.delete()
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class _RoutedJob:
    """The Spark job of a batch."""

    documents: DataFrame
    router: Value
    stage: HopStage
    entry: EntryStage
    tables: Tables
    batch: int
    commit: int
    """The first number of the commit that the deliveries are expected to get."""

    def run(self, quarantine: Quarantine) -> list[dict[str, Any]]:
        """Route the documents and write the deliveries; returns the reports of the tasks."""
        stage = replace(self.stage, quarantine=quarantine)
        routed = route(self.documents, self.router, stage, self.entry)
        rows = routed.mapInArrow(delivery_stage_rows, from_arrow_schema(STAGE_ROWS))
        write_stage = WriteStage(
            tables=self.tables, batch=self.batch, at=stage.at, commit=self.commit
        )
        return write_deliveries(rows, write_stage)

    def probe(self, quarantine: Quarantine) -> list[FailedDocument]:
        """The documents that end a process in which they are routed from the first hop to the
        last."""
        # Nothing is written: the files of an attempt are those of the job. A document that is
        # merely refused ends no process, whatever the mode.
        config = replace(self.stage.config, mode="PERMISSIVE")
        stage = replace(self.stage, quarantine=quarantine, log=None, config=config)
        entered, hops = entered_documents(self.documents, self.router, stage)
        work = WholeRoute(stage=stage, entry=self.entry, hops=hops)
        failed = entered.mapInArrow(ProbeStage(work=work), from_arrow_schema(FAILED))
        return [FailedDocument(**json.loads(row.failed)) for row in failed.collect()]


def delivery_stage_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of :data:`~penstock.pipeline.match_stage.STAGE_ROWS` from rows after the last hop."""
    for batch in batches:
        is_report = batch.column("file").is_valid()
        yield stage_rows({"file": batch.column("file").filter(is_report)})
        results = batch.filter(batch.column("file").is_null())
        yield _delivery_rows(results)
        yield _outcome_rows(results)


def _delivery_rows(results: pa.RecordBatch) -> pa.RecordBatch:
    """One row per match."""
    compute: Any = pc
    matches: Any = results.column("matches")
    rows = compute.list_parent_indices(matches)
    each = compute.list_flatten(matches)
    names = ("document", "publisher", "sequence", "published_at", "order_key", CONTENT_DIGEST.name)
    return stage_rows(
        {
            **{name: results.column(name).take(rows) for name in names},
            **{name: compute.struct_field(each, name) for name in each.type.names},
        }
    )


def _outcome_rows(results: pa.RecordBatch) -> pa.RecordBatch:
    """One row per document and router. A document matched if any router delivered it."""
    compute: Any = pc
    is_delivered = compute.greater(compute.list_value_length(results.column("matches")), 0)
    # Whoever refuses a document that the first router accepted cannot undo other deliveries.
    is_dead = compute.and_(
        results.column("error").is_valid(), compute.equal(results.column("hop"), 0)
    )
    matched = compute.if_else(is_delivered, "matched", "unmatched")
    names = ("document", "sequence", ROW, "bytes", "set_aside", FRAGMENTS_OMITTED.name)
    return stage_rows(
        {
            **{name: results.column(name) for name in names},
            "outcome": compute.if_else(is_dead, "dead", matched),
            UNKNOWN_ELEMENTS.name: pa.repeat(pa.scalar(0, pa.int64()), results.num_rows),
        }
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedBatchDelivery:
    """Delivers the micro-batches of a stream through a tree: the function of ``foreachBatch``.

    Start it with :func:`~penstock.pipeline.start_stream`. On Spark Connect it is pickled and runs
    in the server's process, which must be able to read the paths and URIs it refers to.

    Parameters
    ----------
    tree
        Returns the URI of the tree that is current when a batch starts. A replay uses the same one.
    tables
        The tables to write.
    router
        Returns the router that each document is published at: a name, or an expression.
    records
        The folder of batch records.
    stream
        The stream's identity, which must be new if the checkpoint is new.
    mappings
        Returns the URI of the mappings that are current when a batch starts.
    annotations
        The kinds of annotations that documents carry to the next hop.
    config
        How to handle refused documents, and the limits of documents.
    """

    tree: Callable[[], str]
    tables: Tables
    router: Callable[[], Value]
    records: str
    stream: str
    mappings: Callable[[], str] | None = None
    annotations: frozenset[AnnotationKind] = MATCH_LIST_ALONE
    config: RunConfig = field(default_factory=RunConfig)

    def __call__(self, documents: DataFrame, batch: int) -> None:
        """Deliver one micro-batch."""
        records = BatchRecords(self.records, self.stream)
        record = records.get_or_create(batch, lambda: [self.tree()], self.mappings)
        (tree,) = record.versions
        deliver_routed(
            documents,
            tree,
            self.tables,
            router=self.router(),
            stream=self.stream,
            batch=batch,
            at=record.at,
            mappings=record.mappings,
            annotations=self.annotations,
            config=self.config,
        )
