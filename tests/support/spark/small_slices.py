"""A matcher that passes hardly any fragments to Spark at a time."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from penstock.pipeline import batch_matcher, limits
from penstock.pipeline.partition_matcher import MatchedSlice, PartitionMatcher


class SmallSlices(PartitionMatcher):
    """A matcher with other limits, which it sets in the workers."""

    def match(self, batches: Iterator[pa.RecordBatch]) -> Iterator[MatchedSlice]:
        """Match the documents of a partition."""
        before = limits.SLICE_FRAGMENT_BYTES, limits.DOCUMENT_FRAGMENT_BYTES_MAX
        set_limits(1, 300)
        try:
            yield from super().match(batches)
        finally:  # the process also works for other tests
            set_limits(*before)


def set_limits(of_slice: int, of_document: int) -> None:
    """Set the limits of this process."""
    setattr(batch_matcher, "SLICE_FRAGMENT_BYTES", of_slice)  # noqa: B010 - final, to mypy
    setattr(batch_matcher, "DOCUMENT_FRAGMENT_BYTES_MAX", of_document)  # noqa: B010
