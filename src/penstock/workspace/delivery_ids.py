"""The ids of deliveries."""

from __future__ import annotations

import itertools
from hashlib import sha256
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ID_BYTES: Final = 16
"""Bytes of the hash that make up an id; it is written as twice as many hexadecimal digits."""


def delivery_ids(documents: pa.Array[Any], subscriptions: pa.Array[Any]) -> pa.Array[Any]:
    """The id of each delivery: the hash of its document and subscription.

    >>> delivery_ids(pa.array(["d"]), pa.array(["s"])).to_pylist()
    ['086d84868c74d50aa12cf0129b9e065a']
    """
    compute: Any = pc
    names = [array.cast(pa.large_string()) for array in (documents, subscriptions)]
    separator = pa.scalar("\x1f", pa.large_string())
    texts = compute.binary_join_element_wise(*names, separator)
    _, offsets_buffer, data = texts.buffers()
    offsets = np.frombuffer(offsets_buffer, np.int64, len(texts) + 1, texts.offset * 8).tolist()
    view = memoryview(data or b"")
    digests = b"".join(
        sha256(view[start:end]).digest()[:ID_BYTES] for start, end in itertools.pairwise(offsets)
    )
    ends = np.arange(len(texts) + 1, dtype=np.int32) * (2 * ID_BYTES)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(digests.hex().encode())]
    ids: pa.Array[Any] = pa.Array.from_buffers(pa.string(), len(texts), buffers)
    return ids
