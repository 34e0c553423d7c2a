"""The binary header that carries annotations. A receiver that cannot use it ignores it."""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Final

from penstock.documents import Document, Limits
from penstock.routing.limits import ANNOTATION_BYTES_MAX

ANNOTATION_VERSION: Final = 1
"""Version of the header, of the reader and of the meaning of queries: a header of another version
is ignored."""

_FIXED: Final = struct.Struct("<B8sQ8s16s")
_SECTION: Final = struct.Struct("<BI")
_CHECKSUM: Final = struct.Struct("<I")

MATCH_LIST_SECTION: Final = 1
BINDINGS_SECTION: Final = 2
LAST_OFFSETS_SECTION: Final = 3
ABSENT_NAMES_SECTION: Final = 4
SKELETON_SECTION: Final = 5
MATCHED_SECTION: Final = 6
UNMATCHED_SECTION: Final = 7


class AnnotationError(ValueError):
    """A header that cannot be used. The document is read instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationHeader:
    """What a router states about a document.

    The header itself attests that a router has read the document to its end, and that it is
    well-formed under the limits.
    """

    document: bytes
    """Digest of the document's identity."""

    content_bytes: int
    """Size of the document."""

    limits: bytes
    """Digest of the limits under which the document is well-formed."""

    announced: bytes
    """Digest of the receiver's announced set, to which the sections refer."""

    sections: Mapping[int, bytes]
    """By section number; sections with unknown numbers are ignored."""


def encode_header(header: AnnotationHeader) -> bytes:
    """The binary form of a header.

    Examples
    --------
    >>> header = AnnotationHeader(
    ...     document=bytes(8),
    ...     content_bytes=4,
    ...     limits=bytes(8),
    ...     announced=bytes(16),
    ...     sections={MATCH_LIST_SECTION: b"123"},
    ... )
    >>> decode_header(encode_header(header)) == header
    True
    """
    parts = [
        _FIXED.pack(
            ANNOTATION_VERSION,
            header.document,
            header.content_bytes,
            header.limits,
            header.announced,
        )
    ]
    for number, payload in header.sections.items():
        parts += _SECTION.pack(number, len(payload)), payload
    encoded = b"".join(parts)
    return encoded + _CHECKSUM.pack(zlib.crc32(encoded))


def decode_header(encoded: bytes) -> AnnotationHeader:
    """Parse a header.

    Raises
    ------
    AnnotationError
        It is truncated, damaged, too large or of another version.
    """
    end = len(encoded) - _CHECKSUM.size
    if len(encoded) > ANNOTATION_BYTES_MAX:
        raise AnnotationError("the header is too large")
    if end < _FIXED.size or encoded[0] != ANNOTATION_VERSION:
        raise AnnotationError("the header is truncated or of another version")
    if _CHECKSUM.unpack_from(encoded, end)[0] != zlib.crc32(memoryview(encoded)[:end]):
        raise AnnotationError("the header is damaged")
    _, document, content_bytes, limits, announced = _FIXED.unpack_from(encoded)
    sections: dict[int, bytes] = {}
    at = _FIXED.size
    while at < end:
        if at + _SECTION.size > end:
            raise AnnotationError("a section is truncated")
        number, size = _SECTION.unpack_from(encoded, at)
        at += _SECTION.size
        if size > end - at or number in sections:
            raise AnnotationError("a section is truncated or repeated")
        sections[number] = encoded[at : at + size]
        at += size
    return AnnotationHeader(
        document=document,
        content_bytes=content_bytes,
        limits=limits,
        announced=announced,
        sections=sections,
    )


def header_bytes(sections: Mapping[int, bytes]) -> int:
    """The size of a header with these sections."""
    fixed = _FIXED.size + _CHECKSUM.size
    return fixed + sum(_SECTION.size + len(payload) for payload in sections.values())


def limits_digest(limits: Limits) -> bytes:
    """The digest by which routers compare their limits."""
    return hashlib.blake2b(repr(astuple(limits)).encode(), digest_size=8).digest()


def document_digest(document: Document) -> bytes:
    """The digest that binds a header to its document."""
    return hashlib.blake2b(document.identity.encode(), digest_size=8).digest()
