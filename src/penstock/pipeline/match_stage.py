"""The first stage of a delivery: matches documents, and writes the documents and dead letters.

Deliveries and outcomes are passed on as rows to :mod:`penstock.pipeline.write_stage`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.pipeline.batch_matcher import BatchOutcomes, byte_lengths
from penstock.pipeline.batch_progress_files import BatchProgressFiles, TaskProgress
from penstock.pipeline.document_log import DocumentLog, DocumentLogWriter
from penstock.pipeline.partition_matcher import MatchedSlice, PartitionMatcher
from penstock.pipeline.quarantine import failed_documents
from penstock.pipeline.sequence_numbers import assign_numbers, order_keys
from penstock.pipeline.shards import ROW
from penstock.workspace.content_digest import content_digest
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import (
    DELIVERIES,
    FRAGMENTS_OMITTED,
    UNKNOWN_ELEMENTS,
)

STAGE_ROWS: Final = pa.schema(
    [
        *(
            pa.field(name, DELIVERIES.field(name).type)
            for name in (
                "subscriber",
                "subscription",
                "document",
                "publisher",
                "sequence",
                "published_at",
                "content_digest",
                "fragments",
            )
        ),
        pa.field("order_key", pa.int64()),
        pa.field(ROW, pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("bytes", pa.int64()),
        UNKNOWN_ELEMENTS,
        pa.field("set_aside", pa.list_(pa.string())),
        FRAGMENTS_OMITTED,
        pa.field("file", pa.string()),
    ]
)
"""The rows between the stages, of three types: a delivery has a ``subscriber``, the outcome of a
document an ``outcome``, and a report in JSON a ``file``: a written file, or a document that failed
in a shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchStage:
    """Processes a partition of documents. Sent to the workers, so it holds plain values only."""

    matcher: PartitionMatcher
    tables: Tables
    stream: str
    batch: int
    log: bool
    """Whether to write the documents; false if they come from the documents table."""
    recent: bool
    """Whether to write them uncompressed, for compaction."""
    progress: BatchProgressFiles

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of :data:`STAGE_ROWS` for the documents of a partition."""
        assert self.matcher.at is not None
        log = DocumentLog(
            tables=self.tables,
            batch=self.batch,
            at=self.matcher.at,
            keeps_refused=self.matcher.config.mode == "PERMISSIVE",
            recent=self.recent,
        ).open()
        with contextlib.closing(self.progress.task()) as progress:
            yield from self._rows(batches, log, progress)
        for report in log.close():
            yield stage_rows({"file": pa.array([report])})

    def _rows(
        self, batches: Iterator[pa.RecordBatch], log: DocumentLogWriter, progress: TaskProgress
    ) -> Iterator[pa.RecordBatch]:
        for matched in self.matcher.match(batches):
            order = order_keys(matched.documents)
            numbered = assign_numbers(matched.documents, stream=self.stream, batch=self.batch)
            matched = matched._replace(documents=numbered)  # noqa: PLW2901
            # All shards see the same documents and errors, so only the first one writes them.
            if matched.shard == 0 and self.log:
                unknown_elements = pa.array(matched.outcomes.unknown_elements)
                log.write(matched.documents, matched.outcomes.errors, unknown_elements)
            yield delivery_rows(matched, order)
            yield _outcome_rows(matched)
            if len(self.matcher.shards) > 1:
                yield from _failure_rows(matched)
            if matched.shard == 0:
                progress.add(matched.documents.num_rows)


def _failure_rows(matched: MatchedSlice) -> Iterator[pa.RecordBatch]:
    """Reports of documents that failed unexpectedly, and perhaps only in this shard."""
    for failed in failed_documents(matched.documents, matched.outcomes.errors):
        yield stage_rows({"file": pa.array([json.dumps({"failed": asdict(failed)})])})


def delivery_rows(matched: MatchedSlice, order: pa.Array[Any]) -> pa.RecordBatch:
    """One row per match; ``order`` has the order keys of the documents."""
    documents, matcher, outcomes = matched.documents, matched.matcher, matched.outcomes
    columns = ("subscriber", "subscription")
    subscriber, subscription = matcher.subscription_columns(outcomes, columns)
    document_rows: Any = pa.array(outcomes.document_rows)
    header = ("document", "publisher", "sequence", "published_at")
    return stage_rows(
        {
            "subscriber": subscriber,
            "subscription": subscription,
            **{name: documents.column(name).take(document_rows) for name in header},
            "order_key": order.take(document_rows),
            "content_digest": _digests(documents, outcomes).take(document_rows),
            "fragments": matched.fragments,
        }
    )


def _digests(documents: pa.RecordBatch, outcomes: BatchOutcomes) -> pa.Array[Any]:
    """The digests of the documents that match something; null for the others."""
    contents: Any = documents.column("content")
    digests = [
        content_digest(contents[row].as_buffer()) if count else None
        for row, count in enumerate(outcomes.match_counts)
    ]
    return pa.array(digests, pa.binary())


def _outcome_rows(slice_: MatchedSlice) -> pa.RecordBatch:
    """One row per document."""
    documents, outcomes = slice_.documents, slice_.outcomes
    matched = np.where(outcomes.match_counts > 0, "matched", "unmatched")
    is_refused = outcomes.errors.is_valid().to_numpy(zero_copy_only=False)
    columns: dict[str, Any] = {
        "document": documents.column("document"),
        "sequence": documents.column("sequence"),
        "outcome": pa.array(np.where(is_refused, "dead", matched), pa.string()),
        "bytes": byte_lengths(documents.column("content")),
        UNKNOWN_ELEMENTS.name: pa.array(outcomes.unknown_elements),
        "set_aside": slice_.matcher.set_aside_column(outcomes),
        FRAGMENTS_OMITTED.name: pa.array(
            [outcomes.fragments_omitted.get(row) for row in range(len(outcomes.errors))], pa.int64()
        ),
    }
    if ROW in documents.schema.names:
        columns[ROW] = documents.column(ROW)
    return stage_rows(columns)


def stage_rows(columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of :data:`STAGE_ROWS`; missing columns are null."""
    length = len(next(iter(columns.values())))
    arrays = [
        pc.cast(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(length, field.type)
        for field in STAGE_ROWS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=STAGE_ROWS)
