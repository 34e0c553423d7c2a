"""Faults that documents inject into the processes that match them.

``<kill`` in a document ends the process with SIGKILL, as the kernel does when memory is short.
``<raise`` raises an exception, and only in the second of several shards.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from penstock.documents.failure_report import internal_error
from penstock.errors import DocumentError
from penstock.pipeline.batch_matcher import BatchMatcher, BatchOutcomes
from penstock.pipeline.partition_matcher import MatchedSlice, PartitionMatcher
from penstock.pipeline.routed_documents import ArrivedDocument, HopStage, RoutedDocument
from penstock.pipeline.shards import SHARD

_match_partition = PartitionMatcher.match
_match_batch = BatchMatcher.match


class FaultyMatcher(PartitionMatcher):
    """A matcher that is subject to the faults of its documents."""

    def match(self, batches: Iterator[pa.RecordBatch]) -> Iterator[MatchedSlice]:
        """Match the documents of a partition."""
        yield from match_partition(self, batches)


def match_partition(
    matcher: PartitionMatcher, batches: Iterator[pa.RecordBatch]
) -> Iterator[MatchedSlice]:
    """Match the documents of a partition, or die."""
    setattr(BatchMatcher, "match", match_batch)  # noqa: B010 - a method, to mypy
    for batch in batches:
        refused = matcher.quarantine.refusals(batch)
        for row, content in enumerate(contents_of(batch)):
            if row not in refused and b"<kill" in content:
                os.kill(os.getpid(), signal.SIGKILL)
        yield from _match_partition(matcher, iter([batch]))


def match_batch(
    matcher: BatchMatcher,
    batch: pa.RecordBatch,
    refused: Mapping[int, DocumentError] | None = None,
) -> BatchOutcomes:
    """Match a batch; an injected exception takes the place of a document's processing."""
    refused = dict(refused or {})
    if SHARD in batch.schema.names and batch.column(SHARD).to_pylist()[0] == 1:
        for row, content in enumerate(contents_of(batch)):
            if b"<raise" in content and row not in refused:
                refused[row] = internal_error(RuntimeError("injected"), content)
    return _match_batch(matcher, batch, refused)


class FaultyHopStage(HopStage):
    """A stage of a tree of routers that ends its process at the second router of a document."""

    def _one(self, arrived: ArrivedDocument) -> RoutedDocument:
        if self.hop == 1 and b"<kill" in arrived.content:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._one(arrived)


def contents_of(batch: pa.RecordBatch) -> list[bytes]:
    """The documents of a batch."""
    contents: list[Any] = batch.column("content").to_pylist()
    return contents


def install() -> None:
    """Subject this process to the faults."""
    setattr(PartitionMatcher, "match", match_partition)  # noqa: B010 - a method, to mypy
