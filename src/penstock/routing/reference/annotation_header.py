"""The header of annotations by definition; its layout is in
:mod:`penstock.routing.annotation_header`."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping


def identity_digest(identity: str) -> bytes:
    """16 bytes that identify a document."""
    return hashlib.blake2b(identity.encode(), digest_size=16).digest()


def attestation(version: int, identity: str, content_bytes: int, limits: bytes) -> bytes:
    """What a header attests about a document."""
    return struct.pack("<B16sQ8s", version, identity_digest(identity), content_bytes, limits)


def encode_header(attested: bytes, announced: bytes, sections: Mapping[int, bytes]) -> bytes:
    """The header of a document for one receiver."""
    encoded = attested + announced
    for number, content in sections.items():
        encoded += bytes([number]) + len(content).to_bytes(4, "little") + content
    return encoded + zlib.crc32(encoded).to_bytes(4, "little")
