"""The header of annotations by definition; its layout is in
:mod:`penstock.routing.annotation_header`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping


def encode_header(attested: bytes, announced: bytes, sections: Mapping[int, bytes]) -> bytes:
    """The header of a document for one receiver."""
    encoded = attested + announced
    for number, content in sections.items():
        encoded += bytes([number]) + len(content).to_bytes(4, "little") + content
    return encoded + zlib.crc32(encoded).to_bytes(4, "little")
