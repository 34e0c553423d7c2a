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
from penstock.pipeline.partition_matcher import MatchedSlice, PartitionMatcher
from penstock.pipeline.quarantine import failed_documents
from penstock.pipeline.sequence_numbers import assign_numbers, order_keys
from penstock.pipeline.shards import ROW
from penstock.workspace.content_digest import content_digest
from penstock.workspace.delta import TableWriter
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import (
    DEAD_LETTERS,
    DELIVERIES,
    DOCUMENT_LOG,
    DOCUMENTS,
    FRAGMENTS_OMITTED,
    TIME,
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
    progress: BatchProgressFiles

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows of :data:`STAGE_ROWS` for the documents of a partition."""
        log = TableWriter(self.tables.documents, DOCUMENT_LOG)
        dead_letters = TableWriter(self.tables.dead_letters, DEAD_LETTERS)
        with contextlib.closing(self.progress.task()) as progress:
            yield from self._rows(batches, log, dead_letters, progress)
        for table, writer in (("documents", log), ("dead_letters", dead_letters)):
            for file in writer.close():
                report = json.dumps({"table": table, **file.as_dict()})
                yield _stage_rows({"file": pa.array([report])})

    def _rows(
        self,
        batches: Iterator[pa.RecordBatch],
        log: TableWriter,
        dead_letters: TableWriter,
        progress: TaskProgress,
    ) -> Iterator[pa.RecordBatch]:
        for matched in self.matcher.match(batches):
            order = order_keys(matched.documents)
            numbered = assign_numbers(matched.documents, stream=self.stream, batch=self.batch)
            matched = matched._replace(documents=numbered)  # noqa: PLW2901
            # All shards see the same documents and errors, so only the first one writes them.
            if matched.shard == 0 and self.log:
                self._write(matched.documents, matched.outcomes, log, dead_letters)
            yield delivery_rows(matched, order)
            yield _outcome_rows(matched)
            if len(self.matcher.shards) > 1:
                yield from _failure_rows(matched)
            if matched.shard == 0:
                progress.add(matched.documents.num_rows)

    def _write(
        self,
        documents: pa.RecordBatch,
        outcomes: BatchOutcomes,
        log: TableWriter,
        dead_letters: TableWriter,
    ) -> None:
        columns: dict[str, Any] = {name: documents.column(name) for name in DOCUMENTS.names}
        columns[UNKNOWN_ELEMENTS.name] = pa.array(outcomes.unknown_elements)
        columns["batch"] = pa.repeat(pa.scalar(self.batch, pa.int64()), documents.num_rows)
        is_accepted = outcomes.errors.is_null()
        has_errors = outcomes.errors.null_count < len(outcomes.errors)
        # Filtering and sorting copy the contents, which are most of the bytes.
        accepted = pa.table(columns)
        if has_errors:
            accepted = accepted.filter(is_accepted)
        log.write(_in_sequence(accepted))
        if self.matcher.config.mode == "PERMISSIVE" and has_errors:
            for number, field in enumerate(outcomes.errors.type):
                columns[field.name] = outcomes.errors.field(number)
            refused_at = pa.scalar(self.matcher.at, TIME)
            columns["refused_at"] = pa.repeat(refused_at, documents.num_rows)
            dead_letters.write(pa.table(columns).filter(pc.invert(is_accepted)))


def _in_sequence(rows: pa.Table) -> pa.Table:
    """Sort rows by number, for row groups of neighbouring numbers.

    See :mod:`penstock.workspace.document_contents`.
    """
    numbers: Any = rows.column("sequence").to_numpy()
    return rows if (np.diff(numbers) >= 0).all() else rows.sort_by("sequence")


def _failure_rows(matched: MatchedSlice) -> Iterator[pa.RecordBatch]:
    """Reports of documents that failed unexpectedly, and perhaps only in this shard."""
    for failed in failed_documents(matched.documents, matched.outcomes.errors):
        yield _stage_rows({"file": pa.array([json.dumps({"failed": asdict(failed)})])})


def delivery_rows(matched: MatchedSlice, order: pa.Array[Any]) -> pa.RecordBatch:
    """One row per match; ``order`` has the order keys of the documents."""
    documents, matcher, outcomes = matched.documents, matched.matcher, matched.outcomes
    columns = ("subscriber", "subscription")
    subscriber, subscription = matcher.subscription_columns(outcomes, columns)
    document_rows: Any = pa.array(outcomes.document_rows)
    header = ("document", "publisher", "sequence", "published_at")
    return _stage_rows(
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
    return _stage_rows(columns)


def _stage_rows(columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of :data:`STAGE_ROWS`; missing columns are null."""
    length = len(next(iter(columns.values())))
    arrays = [
        pc.cast(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(length, field.type)
        for field in STAGE_ROWS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=STAGE_ROWS)
