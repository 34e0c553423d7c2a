"""Runs on the bucket model of the CoDD paper."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from penstock.lab.overlay.overlay_runs import RunConfiguration
from penstock.overlay import BucketDocument, BucketInterest, BucketModel, BucketWorkload


@dataclass(frozen=True, kw_only=True)
class BucketConfiguration(RunConfiguration):
    """A configuration; the defaults are the paper's."""

    k: int = 20
    selectivity: float = 0.2
    change_every: int = 200

    def model(self) -> BucketModel:
        """The bucket model."""
        return BucketModel()

    def interests(self) -> Sequence[BucketInterest]:
        """Every node is its own subscriber."""
        return [BucketInterest.of(number) for number in range(self.nodes)]

    def stream(self) -> Iterator[BucketDocument]:
        """The documents, by seed."""
        workload = self._workload(self.change_every)
        for _ in range(self.documents):
            yield workload.next_document()

    def priming(self) -> Iterator[BucketDocument]:
        """Documents of the buckets that the stream begins with; the stream does not depend on
        them."""
        workload = self._workload(None)
        workload.random = random.Random(f"{self.seed}/priming")
        for _ in range(self.primed_documents):
            yield workload.next_document()

    def _workload(self, shuffle_every: int | None) -> BucketWorkload:
        return BucketWorkload(
            subscribers=self.nodes,
            random=random.Random(f"{self.seed}/buckets"),
            k=self.k,
            selectivity=self.selectivity,
            shuffle_every=shuffle_every,
        )
