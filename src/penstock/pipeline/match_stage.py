"""The first stage of a delivery: documents and dead letters into files, deliveries handed on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.documents import Limits
from penstock.pipeline.batch_matcher import Matching, Outcomes, byte_lengths, slices
from penstock.pipeline.document_matching import ROW, Mode, by_shard, chooser_of, refuse_malformed
from penstock.workspace.delta import TableWriter
from penstock.workspace.index_versions import open_version
from penstock.workspace.pipeline_tables import Tables
from penstock.workspace.table_schemas import DEAD_LETTERS, DELIVERIES, DOCUMENTS, LOG, UNKNOWN

HANDED_ON: Final = pa.schema(
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
                "fragments",
            )
        ),
        pa.field(ROW, pa.int64()),
        pa.field("outcome", pa.string()),
        pa.field("bytes", pa.int64()),
        UNKNOWN,
        pa.field("file", pa.string()),
    ]
)
"""What this stage hands on: rows of three kinds. A delivery has a ``subscriber``, what became of a
document has an ``outcome``, a file that was written has a ``file``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingDown:
    """Matches the documents of a partition; sent to the workers, so it holds plain values only."""

    tables: Tables
    shards: Sequence[str]
    mappings: str | None
    batch: int
    at: datetime
    mode: Mode
    limits: Limits | None
    log: bool
    """Whether the documents are kept; where not, they came out of the documents table."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The rows handed on for the documents of a partition."""
        log = TableWriter(self.tables.documents, LOG)
        dead = TableWriter(self.tables.dead_letters, DEAD_LETTERS)
        for batch in batches:
            for part in slices(batch):
                for shard, documents in by_shard(part):
                    version = open_version(self.shards[shard], limits=self.limits)
                    matching = Matching(version, self.at, chooser_of(self.mappings))
                    outcomes = matching.match(documents)
                    if self.mode == "FAILFAST":
                        refuse_malformed(outcomes, documents)
                    if shard == 0 and self.log:  # one shard speaks for all where all say the same
                        self._set_down(documents, outcomes, log, dead)
                    yield _deliveries(documents, matching, outcomes)
                    yield _outcomes(documents, outcomes)
        for table, writer in (("documents", log), ("dead_letters", dead)):
            for file in writer.close():
                yield _rows({"file": pa.array([json.dumps({"table": table, **file.as_dict()})])})

    def _set_down(
        self,
        documents: pa.RecordBatch,
        outcomes: Outcomes,
        log: TableWriter,
        dead: TableWriter,
    ) -> None:
        columns: dict[str, Any] = {name: documents.column(name) for name in DOCUMENTS.names}
        columns[UNKNOWN.name] = pa.array(outcomes.unknown)
        columns["batch"] = pa.repeat(pa.scalar(self.batch, pa.int64()), documents.num_rows)
        sound = outcomes.faults.is_null()
        log.write(pa.table(columns).filter(sound))
        if self.mode == "PERMISSIVE" and outcomes.faults.null_count < len(outcomes.faults):
            for number, field in enumerate(outcomes.faults.type):
                columns[field.name] = outcomes.faults.field(number)
            columns["refused_at"] = pa.repeat(
                pa.scalar(self.at, LOG.field("published_at").type), documents.num_rows
            )
            dead.write(pa.table(columns).filter(pc.invert(sound)))


def _deliveries(
    documents: pa.RecordBatch, matching: Matching, outcomes: Outcomes
) -> pa.RecordBatch:
    """A row for each match."""
    columns = ("subscriber", "subscription", "returns")
    subscriber, subscription, returns = matching.subscriptions(outcomes, columns)
    compute: Any = pc
    wanted = compute.equal(returns, "fragments").to_numpy(zero_copy_only=False)
    places: Any = pa.array(outcomes.documents)
    header = ("document", "publisher", "sequence", "published_at")
    return _rows(
        {
            "subscriber": subscriber,
            "subscription": subscription,
            **{name: documents.column(name).take(places) for name in header},
            "fragments": matching.fragments(documents.column("content"), outcomes, wanted=wanted),
        }
    )


def _outcomes(documents: pa.RecordBatch, outcomes: Outcomes) -> pa.RecordBatch:
    """A row for each document."""
    matched = np.where(outcomes.matches_each > 0, "matched", "unmatched")
    refused = outcomes.faults.is_valid().to_numpy(zero_copy_only=False)
    columns: dict[str, Any] = {
        "document": documents.column("document"),
        "sequence": documents.column("sequence"),
        "outcome": pa.array(np.where(refused, "dead", matched), pa.string()),
        "bytes": byte_lengths(documents.column("content")),
        UNKNOWN.name: pa.array(outcomes.unknown),
    }
    if ROW in documents.schema.names:
        columns[ROW] = documents.column(ROW)
    return _rows(columns)


def _rows(columns: dict[str, Any]) -> pa.RecordBatch:
    """Rows of :data:`HANDED_ON`: columns that are not given are null."""
    length = len(next(iter(columns.values())))
    arrays = [
        pc.cast(columns[field.name], field.type)
        if field.name in columns
        else pa.nulls(length, field.type)
        for field in HANDED_ON
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=HANDED_ON)
