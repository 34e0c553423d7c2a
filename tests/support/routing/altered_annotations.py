"""Annotations as they must not change a delivery: damaged, stale or forged."""

from __future__ import annotations

import random

from penstock.documents import Document, Limits
from penstock.routing.annotation_header import attestation, encode_header, limits_digest


def damaged_bytes(chance: random.Random, encoded: bytes) -> bytes:
    """Truncates, extends or changes some bytes."""
    if not encoded or chance.random() < 0.3:
        return encoded[: chance.randrange(len(encoded) + 1)]
    if chance.random() < 0.2:
        return encoded + chance.randbytes(3)
    damaged = bytearray(encoded)
    damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def forged_annotations(
    chance: random.Random, document: Document, announced: bytes = bytes(16)
) -> bytes:
    """A header that is well-formed, and states what its author likes."""
    attested = attestation(document.identity, len(document.content), limits_digest(Limits()))
    sections = {chance.randrange(1, 9): chance.randbytes(chance.randrange(12))}
    return encode_header(attested, announced, sections)
