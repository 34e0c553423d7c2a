"""Which bucket of a table a subscriber's deliveries are in.

CRC-32 of the name in UTF-8, modulo the number of buckets: the same in every process and version of
Penstock, and also one of Spark's own functions, so that a job need not go through Python for it.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import pyarrow as pa

BUCKETS: Final = 64
"""How many buckets a table of deliveries has, unless it was made with another number: many enough
that reading one mailbox reads a small part, few enough that each batch writes few files."""


def bucket_of(name: str, buckets: int = BUCKETS) -> int:
    """The bucket of one name.

    >>> bucket_of("anna")
    55
    """
    return zlib.crc32(name.encode()) % buckets


def buckets_of(
    names: pa.ChunkedArray[Any] | pa.Array[Any], buckets: int = BUCKETS
) -> pa.Array[Any]:
    """The bucket of each name of an Arrow array.

    >>> buckets_of(pa.array(["anna", "ben", "anna"])).to_pylist()
    [55, 33, 55]
    """
    array = names.combine_chunks() if isinstance(names, pa.ChunkedArray) else names
    encoded = array.dictionary_encode()
    distinct: list[Any] = encoded.dictionary.to_pylist()
    of_each = pa.array([bucket_of(name, buckets) for name in distinct], pa.int32())
    return of_each.take(encoded.indices)
