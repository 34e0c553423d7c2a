"""Sums up the outcomes of documents. With shards, a document matched if it matched any of them."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa

from penstock.pipeline.shards import ROW
from penstock.workspace.limits import PUBLISHED_SEQUENCE_MAX


class OutcomeTotals:
    """Sums over the outcomes of a partition's documents."""

    def __init__(self) -> None:
        self.deliveries = 0
        """Number of deliveries, which the caller counts."""
        self._last_sequence: int | None = None
        self._unsharded: Counter[str] = Counter()
        # A document has one row from each shard. It matched if it matched any of them.
        self._sharded: dict[int, _Outcome] = {}
        # Each shard has subscriptions of its own.
        self._set_aside: Counter[str] = Counter()
        self._fragments_omitted = 0

    def add(self, outcomes: pa.RecordBatch) -> None:
        """Add rows of :data:`~penstock.pipeline.match_stage.STAGE_ROWS` that have an outcome."""
        names = (ROW, "sequence", *_Outcome._fields)
        columns = [outcomes.column(name).to_pylist() for name in names]
        for subscriptions in outcomes.column("set_aside").drop_null():
            self._set_aside.update(subscriptions.as_py())
        for omitted in outcomes.column("fragments_omitted").drop_null():
            self._fragments_omitted += omitted.as_py()
        for row, sequence, *rest in zip(*columns, strict=True):
            if sequence <= PUBLISHED_SEQUENCE_MAX:
                self._last_sequence = max(sequence, self._last_sequence or sequence)
            outcome = _Outcome(*rest)
            if row is None:
                _count(self._unsharded, outcome)
            elif outcome.outcome != "unmatched" or row not in self._sharded:
                self._sharded[row] = outcome

    def as_dict(self) -> dict[str, Any]:
        """The sums as JSON-serialisable values."""
        sums = self._unsharded.copy()
        for outcome in self._sharded.values():
            _count(sums, outcome)
        sums["set_aside"] = self._set_aside.total()
        sums["fragments_omitted"] = self._fragments_omitted
        return {
            "sums": {**sums, "deliveries": self.deliveries},
            "set_aside": self._set_aside,
            "last_sequence": self._last_sequence,
        }


class _Outcome(NamedTuple):
    """The outcome of a document. The fields are named after columns."""

    outcome: str
    bytes: int
    unknown_elements: int


def _count(sums: Counter[str], outcome: _Outcome) -> None:
    sums["documents"] += 1
    sums[outcome.outcome] += 1
    sums["bytes"] += outcome.bytes
    sums["unknown_elements"] += outcome.unknown_elements
