"""The annotations of forwarded documents: what a router states, and what it believes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.routing.annotation_header import (
    EMPTY_HEADER_BYTES,
    LIST_HEADER_BYTES,
    MATCH_LIST_SECTION,
    SECTION_BYTES,
    decode_header,
    encode_header,
)
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.limits import (
    ANNOTATION_BYTES_FREE,
    ANNOTATION_BYTES_MAX,
    ANNOTATION_SHARE_MAX,
)

SECTIONS: Final = {
    AnnotationKind.MATCH_LIST: MATCH_LIST_SECTION,
    AnnotationKind.POSITIVE_SUBSCRIPTIONS: 2,
    AnnotationKind.NEGATIVE_SUBSCRIPTIONS: 3,
    AnnotationKind.POSITIVE_DATA: 4,
    AnnotationKind.NEGATIVE_DATA: 5,
    AnnotationKind.SKELETON: 6,
}
"""The number of each kind's section in the header."""

_KINDS: Final = {number: kind for kind, number in SECTIONS.items()}

Parts = Mapping[AnnotationKind, bytes]


def header_bytes_max(content_bytes: int) -> int:
    """Maximum size of the annotations of a document, by its size."""
    share = int(ANNOTATION_SHARE_MAX * content_bytes)
    if share < ANNOTATION_BYTES_FREE:
        return ANNOTATION_BYTES_FREE
    return share if share < ANNOTATION_BYTES_MAX else ANNOTATION_BYTES_MAX


def fits_document(header_bytes: int, content_bytes: int) -> bool:
    """Whether annotations are small enough for a document of this size."""
    return header_bytes <= ANNOTATION_BYTES_FREE or header_bytes <= header_bytes_max(content_bytes)


class DocumentAnnotations:
    """Makes and checks the headers of one document.

    Parameters
    ----------
    attested
        The first part of each header; what attests something else is not believed.
    content_bytes
        Size of the document.
    """

    __slots__ = ("_content_bytes", "attested")

    def __init__(self, attested: bytes, content_bytes: int) -> None:
        self.attested = attested
        self._content_bytes = content_bytes

    def encode(self, announced: bytes, parts: Parts) -> tuple[bytes, dict[AnnotationKind, int]]:
        """The header, empty if nothing fits, and the size of each part in it.

        Parameters
        ----------
        announced
            Digest of the receiver's announced set.
        parts
            The annotations, the most useful first. What does not fit is omitted.
        """
        room = header_bytes_max(self._content_bytes) - EMPTY_HEADER_BYTES
        sections: dict[int, bytes] = {}
        sizes: dict[AnnotationKind, int] = {}
        for kind, payload in parts.items():
            size = SECTION_BYTES + len(payload)
            if size <= room:
                room -= size
                sections[SECTIONS[kind]] = payload
                sizes[kind] = len(payload)
        if not sections:
            return b"", sizes
        return encode_header(self.attested, announced, sections), sizes

    def encode_list(self, announced: bytes, match_list: bytes) -> bytes:
        """The header with a match list alone; empty if it does not fit."""
        if not fits_document(LIST_HEADER_BYTES + len(match_list), self._content_bytes):
            return b""
        return encode_header(self.attested, announced, {MATCH_LIST_SECTION: match_list})

    def decode(self, encoded: bytes, announced: bytes) -> Parts:
        """The annotations in a header.

        Raises
        ------
        AnnotationError
            The header is malformed, or states something about another document, under other limits
            or about another set of patterns.
        """
        sections = decode_header(encoded, self.attested, announced)
        return {_KINDS[number]: payload for number, payload in sections.items() if number in _KINDS}
