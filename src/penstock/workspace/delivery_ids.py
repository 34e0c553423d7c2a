"""The ids of deliveries."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.workspace.checksums import DIGEST_BYTES, sha256_each

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
    digests = np.frombuffer(sha256_each(texts), np.uint8).reshape(-1, DIGEST_BYTES)
    digits = digests[:, :ID_BYTES].tobytes().hex().encode()
    ends = np.arange(len(texts) + 1, dtype=np.int32) * (2 * ID_BYTES)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(digits)]
    ids: pa.Array[Any] = pa.Array.from_buffers(pa.string(), len(texts), buffers)
    return ids
