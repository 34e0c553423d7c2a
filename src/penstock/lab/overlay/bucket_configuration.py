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
        workload = BucketWorkload(
            subscribers=self.nodes,
            random=random.Random(f"{self.seed}/buckets"),
            k=self.k,
            selectivity=self.selectivity,
            shuffle_every=self.change_every,
        )
        for _ in range(self.documents):
            yield workload.next_document()
