"""Matches the documents of a Spark partition. Runs in the Python workers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from penstock.errors import DocumentError, Where
from penstock.pipeline.batch_matcher import (
    BatchMatcher,
    BatchOutcomes,
    FragmentChoice,
    split_by_bytes,
)
from penstock.pipeline.quarantine import Quarantine
from penstock.pipeline.run_config import RunConfig
from penstock.pipeline.sent_index import OpenIndex, SentIndex
from penstock.pipeline.shards import split_by_shard
from penstock.pipeline.worker_cache import cached_index, cached_mappings, cached_version
from penstock.pipeline.worker_heap import freeze_heap
from penstock.workspace.index_versions import OpenVersion


class MatchedSlice(NamedTuple):
    """Some documents of a partition, matched against one shard."""

    shard: int
    documents: pa.RecordBatch
    matcher: BatchMatcher
    outcomes: BatchOutcomes
    fragments: pa.Array[Any]
    """The fragments of each match."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionMatcher:
    """Matches partitions. Sent to the workers, so it holds plain values only."""

    shards: Sequence[str | SentIndex]
    """The URIs of the index versions, or one index."""
    mappings: str | None
    """The URI of the mappings; ``None`` to match documents without mappings."""
    at: datetime | None
    """Decides which subscriptions have started and not expired; ``None`` to match all."""
    config: RunConfig
    fragments: FragmentChoice
    quarantine: Quarantine = field(default_factory=Quarantine)
    """Documents that are refused without being read."""

    def match(self, batches: Iterator[pa.RecordBatch]) -> Iterator[MatchedSlice]:
        """Match the documents of a partition, a bounded number of bytes at a time.

        Raises
        ------
        DocumentError
            A document is refused and the mode is ``FAILFAST``.
        """
        freeze_heap()
        for batch in batches:
            for part in split_by_bytes(batch):
                for shard, documents in split_by_shard(part):
                    version = self._open(self.shards[shard])
                    chooser = None if self.mappings is None else cached_mappings(self.mappings)
                    matcher = BatchMatcher(version, self.at, chooser)
                    matched = matcher.match(documents, self.quarantine.refusals(documents))
                    contents = documents.column("content")
                    for rows, outcomes, fragments in matcher.with_fragments(
                        contents, matched, self.fragments
                    ):
                        delivered = documents.slice(rows.start, len(rows))
                        if self.config.mode == "FAILFAST":
                            _raise_first_error(delivered, outcomes)
                        yield MatchedSlice(shard, delivered, matcher, outcomes, fragments)

    def _open(self, shard: str | SentIndex) -> OpenVersion | OpenIndex:
        if isinstance(shard, SentIndex):
            return cached_index(shard, limits=self.config.limits)
        return cached_version(shard, limits=self.config.limits)


def _raise_first_error(documents: pa.RecordBatch, outcomes: BatchOutcomes) -> None:
    for row in np.flatnonzero(outcomes.errors.is_valid().to_numpy(zero_copy_only=False)):
        fault: Any = outcomes.errors[int(row)].as_py()
        identity = documents.column("document")[int(row)]
        where = Where(fault["offset"], fault["line"], fault["column"])
        raise DocumentError(
            fault["code"],
            f"{identity}: {fault['message']}",
            where=None if fault["line"] is None else where,
        )
