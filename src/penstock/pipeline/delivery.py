"""A batch of documents into the tables: one Spark job, one commit a table.

Two stages. The first matches, writes the documents and dead letters of its partition into files,
and hands on a row for each delivery and each document's outcome. The second, after a shuffle by
bucket, writes the deliveries of each bucket sorted by subscriber, and adds the outcomes up. Both
hand on the names of the files they wrote: of a task that was tried several times, only the attempt
that succeeded is heard. The driver then commits documents, dead letters, deliveries and counts,
in this order, each with the batch's number: replayed after a failure, a batch is committed once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.documents import Limits
from penstock.pipeline.document_matching import ROW, Mode, checked_versions, with_shards
from penstock.pipeline.match_stage import HANDED_ON, SettingDown
from penstock.pipeline.write_stage import REPORT, Bucketing
from penstock.workspace.delta import TableWriter, WrittenFile, commit_batch, last_batch
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import BUCKETS
from penstock.workspace.table_schemas import COUNTS


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """What became of a batch: ``documents == matched + unmatched + dead``."""

    documents: int = 0
    matched: int = 0
    unmatched: int = 0
    dead: int = 0
    deliveries: int = 0
    bytes: int = 0
    unknown_elements: int = 0
    """Elements that the schemas of the documents' mappings do not have."""


def deliver(
    documents: DataFrame,
    versions: str | Sequence[str],
    tables: Tables,
    *,
    stream: str,
    batch: int,
    at: datetime,
    mappings: str | None = None,
    mode: Mode = "PERMISSIVE",
    limits: Limits | None = None,
    log: bool = True,
) -> BatchCounts | None:
    """Match a batch of documents and commit what it gives, once.

    Parameters
    ----------
    documents
        With the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`.
    versions
        The URI of an index version, or of the shards of one.
    tables
        Where to; they must exist.
    stream, batch
        The batch's identity: what was committed under it is not committed again. The batches of
        a stream come in ascending order, and a replay brings the same documents, ``versions``,
        ``mappings`` and ``at``.
    at
        The batch's time: it decides which subscriptions have started and not expired.
    mappings
        The URI of mappings by which documents are matched, as their headers ask for; without it
        all are matched as they are. Deliveries are of the publishers' bytes either way.
    mode
        ``PERMISSIVE`` stores refused documents as dead letters, ``DROPMALFORMED`` only counts
        them, ``FAILFAST`` commits nothing of a batch that has one.
    limits
        How large a document may be, in every respect.
    log
        Also keep the documents in the documents table; not for those that come from there.

    Returns
    -------
    What became of the documents; ``None`` where the whole batch was committed before.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.pipeline import read_column
    >>> from penstock.workspace import StoredSubscription, Workspace
    >>> wanted = StoredSubscription(id="cheap", subscriber="anna", query="//price[. < 10]")
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     added = workspace.subscriptions.add(wanted)
    ...     version, tables = workspace.current_version(), workspace.tables
    >>> tables.create()
    >>> table = spark.createDataFrame([("<price>7</price>",), ("<price>",)], "xml string")
    >>> batch = read_column(spark, table, "xml", publisher="me")
    >>> noon = datetime(2026, 5, 1, 12, tzinfo=UTC)
    >>> counts = deliver(batch, version, tables, stream="prices", batch=0, at=noon)
    >>> counts.documents, counts.matched, counts.unmatched, counts.dead, counts.deliveries
    (2, 1, 0, 1, 1)
    >>> deliver(batch, version, tables, stream="prices", batch=0, at=noon)  # once only
    """
    shards = checked_versions(versions, mode)
    last = last_batch(tables.counts, stream)
    if last is not None and batch <= last:
        return None
    setting_down = SettingDown(
        tables=tables,
        shards=shards,
        mappings=mappings,
        batch=batch,
        at=at,
        mode=mode,
        limits=limits,
        log=log,
    )
    bucketing = Bucketing(tables=tables, batch=batch, at=at)
    reports = (
        with_shards(documents, len(shards))
        .mapInArrow(setting_down, from_arrow_schema(HANDED_ON))
        .withColumn("delivery", delivery_column())
        .withColumn("bucket", bucket_column())
        .repartition("bucket")
        .sortWithinPartitions("bucket", "subscriber", "publisher", "sequence", ROW)
        .mapInArrow(bucketing, from_arrow_schema(REPORT))
        .collect()
    )
    return _commit([json.loads(row.report) for row in reports], shards, tables, stream, batch)


def delivery_column() -> Column:
    """The hash of document and subscription that names a delivery."""
    text = f.concat_ws("\x1f", "document", "subscription")
    return f.when(f.col("subscriber").isNotNull(), f.substring(f.sha2(text, 256), 1, 32))


def bucket_column() -> Column:
    """A subscriber's bucket; rows that are no deliveries are spread by their document."""
    text = f.coalesce("subscriber", "document", f.lit(""))
    return f.pmod(f.crc32(text), f.lit(BUCKETS)).cast("int")


def _commit(
    reports: Sequence[Mapping[str, Any]],
    shards: Sequence[str],
    tables: Tables,
    stream: str,
    batch: int,
) -> BatchCounts:
    files: dict[str, list[WrittenFile]] = {"documents": [], "dead_letters": [], "deliveries": []}
    sums: Counter[str] = Counter()
    sequences: list[int] = []
    for report in reports:
        if "table" in report:
            file = dict(report)
            files[file.pop("table")].append(WrittenFile(**file))
        else:
            sums.update(report["sums"])
            sequences += [last for last in [report["last_sequence"]] if last is not None]
    counts = BatchCounts(**sums)
    assert counts.documents == counts.matched + counts.unmatched + counts.dead, counts
    for table, written in files.items():
        commit_batch(getattr(tables, table), written, stream=stream, batch=batch)
    writer = TableWriter(tables.counts, COUNTS)
    row = {
        "stream": stream,
        "batch": batch,
        "versions": list(shards),
        **asdict(counts),
        "last_sequence": max(sequences, default=None),
        "finished_at": datetime.now(UTC),
    }
    writer.write(pa.Table.from_pylist([row], schema=COUNTS))
    commit_batch(tables.counts, writer.close(), stream=stream, batch=batch)
    return counts
