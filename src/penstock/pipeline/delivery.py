"""Delivers a batch of documents: one Spark job, one commit per table.

A task matches documents, writes documents, dead letters and deliveries to files, and sums up the
outcomes. If publishing order is not known, or there are shards, deliveries and outcomes are first
shuffled by bucket: see :mod:`penstock.pipeline.write_stage`. Tasks report the files they wrote; if
one had several attempts, only the report of the successful one arrives. The driver then commits
documents, dead letters, deliveries and counts, in this order, each with the batch number: a batch
that is replayed after a failure is committed once.

If a document ends its worker process, the job fails. The documents that do so are then found and
quarantined, and the job is run again without reading them: see
:mod:`penstock.pipeline.document_probe`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from penstock.pipeline.batch_progress_files import BatchProgressFiles
from penstock.pipeline.document_columns import own_columns
from penstock.pipeline.document_probe import FAILED, MatchWork, ProbeStage
from penstock.pipeline.journal_tasks import JournalTasks
from penstock.pipeline.match_stage import STAGE_ROWS, MatchStage
from penstock.pipeline.partition_matcher import PartitionMatcher
from penstock.pipeline.quarantine import FailedDocument, Quarantine, QuarantineFile
from penstock.pipeline.quarantined_job import run_with_quarantine
from penstock.pipeline.run_config import RunConfig
from penstock.pipeline.shards import check_versions, open_on_driver, with_shards
from penstock.pipeline.write_stage import REPORT, SORT_KEYS, WriteStage
from penstock.workspace.commit_positions import commit_deliveries, next_commit
from penstock.workspace.delta import TableWriter, WrittenFile, commit_batch, last_committed_batch
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.subscriber_buckets import BUCKETS
from penstock.workspace.table_schemas import COUNTS, SET_ASIDE_BY_SUBSCRIPTION


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchCounts:
    """The result of a batch: ``documents == matched + unmatched + dead``."""

    documents: int = 0
    matched: int = 0
    unmatched: int = 0
    dead: int = 0
    deliveries: int = 0
    bytes: int = 0
    unknown_elements: int = 0
    """Elements that the schemas of the documents' mappings do not define."""
    set_aside: int = 0
    """Pairs of a document and a subscription that was set aside for it."""
    fragments_omitted: int = 0
    """Fragments that were omitted from deliveries because of a limit."""


def deliver(
    documents: DataFrame,
    versions: str | Sequence[str],
    tables: Tables,
    *,
    stream: str,
    batch: int,
    at: datetime,
    mappings: str | None = None,
    log: bool = True,
    in_publishing_order: bool = False,
    config: RunConfig | None = None,
    journal: JournalTasks | None = None,
) -> BatchCounts | None:
    """Match a batch of documents, and commit the results exactly once.

    Parameters
    ----------
    documents
        A DataFrame with the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`, unless
        there is a ``journal``.
    versions
        The URI of an index version, or the URIs of its shards.
    tables
        The tables to write; they must exist.
    stream, batch
        The batch's identity: a batch that was committed is not committed again. The batches of a
        stream must be delivered in ascending order, and a replay must have the same documents,
        ``versions``, ``mappings`` and ``at``.
    at
        The batch's time, which decides which subscriptions have started and not expired.
    mappings
        The URI of the mappings that document headers refer to; by default no mappings are applied.
        In both cases the publisher's bytes are delivered.
    log
        Whether to write the documents to the documents table; false if they come from there.
    in_publishing_order
        Whether the documents of a partition were published after those of the partitions before, as
        in an inbox. Tasks then write their deliveries without a shuffle.
    config
        How to handle refused documents, and the limits of documents.
    journal
        The tasks that read the documents from an inbox's journal. There are no shards then.

    Returns
    -------
    The batch's counts; ``None`` if the batch was committed before.

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
    >>> deliver(batch, version, tables, stream="prices", batch=0, at=noon)  # committed before
    """
    if journal is None:
        own_columns(documents.schema)
    shards = check_versions(versions)
    assert journal is None or len(shards) == 1, "tasks of a journal match against one shard"
    last = last_committed_batch(tables.counts, stream)
    if last is not None and batch <= last:
        return None
    open_on_driver(documents.sparkSession, shards)
    matcher = PartitionMatcher(
        shards=shards,
        mappings=mappings,
        at=at,
        config=config or RunConfig(),
        fragments="requested",
    )
    progress = BatchProgressFiles.beside(tables, stream)
    commit = next_commit(tables.deliveries)
    if journal is not None:
        documents = journal.numbers(documents.sparkSession)
    job = _Job(
        documents=with_shards(documents, len(shards)),
        journal=journal,
        matcher=matcher,
        tables=tables,
        stream=stream,
        batch=batch,
        commit=commit,
        log=log,
        is_shuffled=len(shards) > 1 or not in_publishing_order,
        progress=progress,
    )
    file = QuarantineFile(tables, stream=stream, batch=batch)
    with progress.of_batch():
        reports = run_with_quarantine(job, file, stream)
    counts = commit_reports(reports, shards, tables, stream=stream, batch=batch, commit=commit)
    file.delete()
    return counts


_Stage: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Job:
    """The Spark job of a batch."""

    documents: DataFrame
    """The documents, or the numbers of the tasks of ``journal``."""
    journal: JournalTasks | None
    matcher: PartitionMatcher
    tables: Tables
    stream: str
    batch: int
    commit: int
    """The first number of the commit that the deliveries are expected to get."""
    log: bool
    is_shuffled: bool
    progress: BatchProgressFiles

    def run(self, quarantine: Quarantine) -> list[dict[str, Any]]:
        """Match and write the documents; returns the reports of the tasks."""
        matcher = replace(self.matcher, quarantine=quarantine)
        assert matcher.at is not None
        match_stage = MatchStage(
            matcher=matcher,
            tables=self.tables,
            stream=self.stream,
            batch=self.batch,
            log=self.log,
            # As deliveries are: compaction of a workspace rewrites both.
            recent=not self.is_shuffled,
            progress=self.progress,
        )
        write_stage = WriteStage(
            tables=self.tables, batch=self.batch, at=matcher.at, commit=self.commit
        )
        if self.is_shuffled:
            rows = self._map(match_stage, from_arrow_schema(STAGE_ROWS))
            return write_deliveries(rows, write_stage)

        def match_and_write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return write_stage.write_recent(match_stage(batches))

        return _collect(self._map(match_and_write, from_arrow_schema(REPORT)))

    def probe(self, quarantine: Quarantine) -> list[FailedDocument]:
        """The documents that end the processes they are matched in."""
        work = MatchWork(replace(self.matcher, quarantine=quarantine))
        stage = ProbeStage(work=work)
        rows = self._map(stage, from_arrow_schema(FAILED)).collect()
        return [FailedDocument(**json.loads(row.failed)) for row in rows]

    def _map(self, stage: _Stage, schema: StructType) -> DataFrame:
        """Apply a stage to the documents."""
        journal = self.journal
        if journal is None:
            return self.documents.mapInArrow(stage, schema)

        def read_and_apply(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            return stage(journal.read(numbers))

        return self.documents.mapInArrow(read_and_apply, schema)


def write_deliveries(rows: DataFrame, stage: WriteStage) -> list[dict[str, Any]]:
    """Write the deliveries of a batch by bucket; returns the reports of the tasks.

    Parameters
    ----------
    rows
        Rows of :data:`~penstock.pipeline.match_stage.STAGE_ROWS`.
    stage
        Writes the deliveries of a partition.
    """
    sorted_rows = (
        rows.withColumn("delivery", delivery_column())
        .withColumn("bucket", bucket_column())
        .repartition("bucket")
        .sortWithinPartitions("bucket", *SORT_KEYS)
    )
    return _collect(sorted_rows.mapInArrow(stage.write_buckets, from_arrow_schema(REPORT)))


def _collect(reports: DataFrame) -> list[dict[str, Any]]:
    return [json.loads(row.report) for row in reports.collect()]


def delivery_column() -> Column:
    """A delivery's id: the hash of document and subscription."""
    text = f.concat_ws("\x1f", "document", "subscription")
    return f.when(f.col("subscriber").isNotNull(), f.substring(f.sha2(text, 256), 1, 32))


def bucket_column() -> Column:
    """The subscriber's bucket; rows that are not deliveries are spread by document."""
    text = f.coalesce("subscriber", "document", f.lit(""))
    return f.pmod(f.crc32(text), f.lit(BUCKETS)).cast("int")


def commit_reports(
    reports: Sequence[Mapping[str, Any]],
    shards: Sequence[str],
    tables: Tables,
    *,
    stream: str,
    batch: int,
    commit: int,
) -> BatchCounts:
    """Commit what the tasks of a batch have written, unless it was committed before."""
    files: dict[str, list[WrittenFile]] = {"documents": [], "dead_letters": [], "deliveries": []}
    sums: Counter[str] = Counter()
    set_aside: Counter[str] = Counter()
    sequences: list[int] = []
    numbers = 1
    for report in reports:
        if "table" in report:
            file = dict(report)
            files[file.pop("table")].append(WrittenFile(**file))
        else:
            sums.update(report["sums"])
            set_aside.update(report["set_aside"])
            numbers = max(numbers, report.get("task", 0) + 1)
            sequences += [last for last in [report["last_sequence"]] if last is not None]
    counts = BatchCounts(**sums)
    assert counts.documents == counts.matched + counts.unmatched + counts.dead, counts
    commit_batch(tables.documents, files["documents"], stream=stream, batch=batch)
    # A replay has the same dead letters, so a batch that has none needs no mark.
    if files["dead_letters"]:
        commit_batch(tables.dead_letters, files["dead_letters"], stream=stream, batch=batch)
    commit_deliveries(
        tables.deliveries,
        files["deliveries"],
        stream=stream,
        batch=batch,
        commit=commit,
        numbers=numbers,
    )
    writer = TableWriter(tables.counts, COUNTS)
    row = {
        "stream": stream,
        "batch": batch,
        "versions": list(shards),
        **asdict(counts),
        "last_sequence": max(sequences, default=None),
        "finished_at": datetime.now(UTC),
        SET_ASIDE_BY_SUBSCRIPTION.name: sorted(set_aside.items()),
    }
    writer.write(pa.Table.from_pylist([row], schema=COUNTS))
    commit_batch(tables.counts, writer.close(), stream=stream, batch=batch)
    return counts
