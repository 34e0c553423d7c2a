"""Sequence numbers of documents that no inbox has numbered.

The readers of :mod:`penstock.pipeline.readers` cannot number documents: Spark reads the rows of a
batch in parallel, and a replay may read them in other partitions. A reader instead sets
``sequence`` to a negative *order key*, which is publishing time and position and not unique. When
the documents are delivered, each gets a number that is a hash of the batch and of everything that
is known about the document. It is unique, like any hash, and the same in all shards and replays.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from penstock.workspace.content_digest import content_digest

ORDER_KEY_MIN: Final = -(1 << 63)
"""The order key of time zero."""

POSITIONS_PER_MICROSECOND: Final = 2048
"""An order key is the publishing time in microseconds, times this, plus the position among
documents published at the same time. It fits into 64 bits through the year 2112."""

ASSIGNED: Final = 1 << 62
"""The smallest assigned number; the 62 bits below it are a hash."""


def order_keys(documents: pa.RecordBatch) -> pa.Array[Any]:
    """Integers that sort documents of a publisher in publishing order.

    A sequence number from an inbox, or the key from a reader. A document that was read from the
    documents table may have an assigned number; then its publishing time is the key.
    """
    compute: Any = pc
    sequences = documents.column("sequence")
    microseconds = documents.column("published_at").cast(pa.int64())
    times = compute.multiply(microseconds, POSITIONS_PER_MICROSECOND)
    by_time = compute.add(times, ORDER_KEY_MIN)
    is_assigned = compute.greater_equal(sequences, ASSIGNED)
    keys: pa.Array[Any] = compute.if_else(is_assigned, by_time, sequences)
    return keys


def assign_numbers(documents: pa.RecordBatch, *, stream: str, batch: int) -> pa.RecordBatch:
    """The documents of a batch, with sequence numbers instead of order keys.

    Rows that are equal in every column get the same number.
    """
    sequences: NDArray[np.int64] = documents.column("sequence").to_numpy(zero_copy_only=False)
    unnumbered = np.flatnonzero(sequences < 0)
    if not len(unnumbered):
        return documents
    numbers = sequences.copy()
    names = ("document", "schema", "fields", "sequence", "content")
    rows = zip(*(documents.column(name).to_pylist() for name in names), strict=True)
    for row, (document, schema, fields, order_key, content) in enumerate(rows):
        if order_key < 0:
            digest = content_digest(content).hex()
            header = [stream, batch, document, schema, sorted(fields), order_key, digest]
            hashed = hashlib.sha256(json.dumps(header).encode()).digest()
            numbers[row] = ASSIGNED | int.from_bytes(hashed[:8]) >> 2
    column = documents.schema.get_field_index("sequence")
    return documents.set_column(column, "sequence", pa.array(numbers))
