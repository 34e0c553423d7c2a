"""The binary header that carries annotations. A receiver that cannot use it ignores it.

==============  ============================================================================
bytes           meaning
==============  ============================================================================
1               version of the header, of the reader and of the meaning of queries
16              digest of the document's identity
8               size of the document
8               digest of the limits under which a router has read the document to its end
16              digest of the receiver's announced set, to which the sections refer
1 + 4 + n each  sections: number, size, content; unknown numbers are ignored
4               CRC-32 of everything before
==============  ============================================================================

All integers are little-endian. The header itself is the attestation that the document is
well-formed under these limits.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Mapping
from dataclasses import astuple
from functools import lru_cache
from typing import Final

from penstock.documents import Limits
from penstock.native import native
from penstock.routing.limits import ANNOTATION_BYTES_MAX
from penstock.routing.reference import annotation_header as reference

ANNOTATION_VERSION: Final = 1
"""A header of another version is ignored."""

DOCUMENT_DIGEST: Final = slice(1, 17)
"""Where a header has the digest of the document's identity."""

_ATTESTED_BYTES: Final = 1 + 16 + 8 + 8
_SECTION: Final = struct.Struct("<BI")
_CHECKSUM: Final = struct.Struct("<I")

MATCH_LIST_SECTION: Final = 1
"""The number of the section that is a match list."""

EMPTY_HEADER_BYTES: Final = _ATTESTED_BYTES + 16 + _CHECKSUM.size
"""Size of a header without sections."""

SECTION_BYTES: Final = _SECTION.size
"""Bytes of a section besides its content."""

LIST_HEADER_BYTES: Final = EMPTY_HEADER_BYTES + SECTION_BYTES
"""Bytes of a header with a match list alone, besides the list."""


class AnnotationError(ValueError):
    """A header that cannot be used. The document is read instead."""


def attestation(identity: str, content_bytes: int, limits: bytes) -> bytes:
    """The first part of a header, which does not depend on its receiver.

    Parameters
    ----------
    identity
        The document's identity.
    content_bytes
        Size of the document.
    limits
        Result of :func:`limits_digest`.

    Examples
    --------
    >>> len(attestation("wire/7", 4, bytes(8)))
    33
    """
    if native is None:
        return reference.attestation(ANNOTATION_VERSION, identity, content_bytes, limits)
    return native.annotation_attestation(ANNOTATION_VERSION, identity, content_bytes, limits)


def encode_header(attested: bytes, announced: bytes, sections: Mapping[int, bytes]) -> bytes:
    """The header of a document for one receiver.

    Examples
    --------
    >>> attested = attestation("wire/7", 4, bytes(8))
    >>> encoded = encode_header(attested, bytes(16), {1: b"123"})
    >>> decode_header(encoded, attested, bytes(16))
    {1: b'123'}
    """
    if native is None:
        return reference.encode_header(attested, announced, sections)
    return native.encode_annotation_header(attested, announced, list(sections.items()))


def decode_header(encoded: bytes, attested: bytes, announced: bytes) -> dict[int, bytes]:
    """The sections of a header that applies to this document, these limits and this set.

    Raises
    ------
    AnnotationError
        It is truncated, damaged or too large, or does not apply.
    """
    if len(encoded) > ANNOTATION_BYTES_MAX:
        raise AnnotationError("the header is too large")
    if not encoded.startswith(attested):
        raise AnnotationError("the header is that of another version, document or limits")
    if not encoded.startswith(announced, len(attested)):
        raise AnnotationError("the header refers to another announced set")
    end = len(encoded) - _CHECKSUM.size
    at = len(attested) + len(announced)
    if at > end or _CHECKSUM.unpack_from(encoded, end)[0] != zlib.crc32(encoded[:end]):
        raise AnnotationError("the header is damaged")
    sections: dict[int, bytes] = {}
    while at < end:
        if at + _SECTION.size > end:
            raise AnnotationError("a section is truncated")
        number, size = _SECTION.unpack_from(encoded, at)
        at += _SECTION.size
        if size > end - at or number in sections:
            raise AnnotationError("a section is truncated or repeated")
        sections[number] = encoded[at : at + size]
        at += size
    return sections


def match_list_of(header: bytes) -> bytes:
    """The match list of a header that was made with a match list alone.

    Examples
    --------
    >>> match_list_of(encode_header(bytes(33), bytes(16), {MATCH_LIST_SECTION: b"123"}))
    b'123'
    """
    return header[LIST_HEADER_BYTES - _CHECKSUM.size : -_CHECKSUM.size]


@lru_cache(maxsize=16)
def limits_digest(limits: Limits) -> bytes:
    """The digest by which routers compare their limits."""
    return hashlib.blake2b(repr(astuple(limits)).encode(), digest_size=8).digest()
