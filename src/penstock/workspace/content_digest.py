"""The digest of a document's bytes, which ties a delivery to them."""

from __future__ import annotations

import hashlib

import pyarrow as pa


def content_digest(content: bytes | pa.Buffer | None) -> bytes:
    """The SHA-256 of a document's bytes; of no bytes for a null.

    >>> content_digest(b"<a/>").hex()[:16]
    '29114363f749a022'
    """
    return hashlib.sha256(content or b"").digest()
