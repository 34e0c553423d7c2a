"""The part of the deliveries table that a subscriber's deliveries are in.

The table has a partition for each *bucket*, which is CRC-32 of the subscriber's UTF-8 name modulo
the number of buckets: the same in every process and every version of Penstock. One more partition
has the *recent* deliveries of all subscribers: a batch writes its deliveries there, in one file per
task, and compaction moves them to the buckets.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import pyarrow as pa

BUCKETS: Final = 64
"""Buckets of the deliveries table: enough that a mailbox is a small part of it, and few enough that
compaction writes few files."""

RECENT: Final = -1
"""The value of the column ``bucket`` in recent deliveries."""


def bucket_of(name: str, buckets: int = BUCKETS) -> int:
    """The bucket of one name.

    >>> bucket_of("anna")
    55
    """
    return zlib.crc32(name.encode()) % buckets


def partitions_of(subscriber: str) -> list[int]:
    """The values of ``bucket`` that the deliveries of a subscriber may have.

    >>> partitions_of("anna")
    [-1, 55]
    """
    return [RECENT, bucket_of(subscriber)]


def buckets_of(
    names: pa.ChunkedArray[Any] | pa.Array[Any], buckets: int = BUCKETS
) -> pa.Array[Any]:
    """The bucket of each name in an Arrow array.

    >>> buckets_of(pa.array(["anna", "ben", "anna"])).to_pylist()
    [55, 33, 55]
    """
    array = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    encoded = array.dictionary_encode()
    distinct: list[Any] = encoded.dictionary.to_pylist()
    distinct_buckets = pa.array([bucket_of(name, buckets) for name in distinct], pa.int32())
    return distinct_buckets.take(encoded.indices)
