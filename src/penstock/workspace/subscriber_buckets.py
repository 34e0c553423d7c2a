"""The bucket of the deliveries table that a subscriber's deliveries are in.

The bucket is CRC-32 of the UTF-8 name modulo the number of buckets. That is the same in every
process and every version of Penstock, and Spark has the same function built in, so a job computes
buckets without Python.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import pyarrow as pa

BUCKETS: Final = 64
"""Buckets of the deliveries table: enough that a mailbox is a small part of it, and few enough that
a batch writes few files."""


def bucket_of(name: str, buckets: int = BUCKETS) -> int:
    """The bucket of one name.

    >>> bucket_of("anna")
    55
    """
    return zlib.crc32(name.encode()) % buckets


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
