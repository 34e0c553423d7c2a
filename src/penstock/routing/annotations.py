"""The annotations of forwarded documents: what a router states, and what it believes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from penstock.routing.annotation_header import (
    attestation,
    decode_header,
    encode_header,
    header_bytes,
)
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.limits import (
    ANNOTATION_BYTES_FREE,
    ANNOTATION_BYTES_MAX,
    ANNOTATION_SHARE_MAX,
)

SECTIONS: Final = {
    AnnotationKind.MATCH_LIST: 1,
    AnnotationKind.POSITIVE_SUBSCRIPTIONS: 2,
    AnnotationKind.NEGATIVE_SUBSCRIPTIONS: 3,
    AnnotationKind.POSITIVE_DATA: 4,
    AnnotationKind.NEGATIVE_DATA: 5,
    AnnotationKind.SKELETON: 6,
}
"""The number of each kind's section in the header."""

_KINDS: Final = {number: kind for kind, number in SECTIONS.items()}

Parts = Mapping[AnnotationKind, bytes]


class DocumentAnnotations:
    """Makes and checks the headers of one document.

    Parameters
    ----------
    document
        Digest of the document's identity.
    content_bytes
        Size of the document.
    limits
        Digest of the limits of reading; an attestation under other limits is not believed.
    """

    __slots__ = ("_attested", "_bytes_max")

    def __init__(self, document: bytes, content_bytes: int, limits: bytes) -> None:
        self._attested = attestation(document, content_bytes, limits)
        share = int(ANNOTATION_SHARE_MAX * content_bytes)
        self._bytes_max = min(max(ANNOTATION_BYTES_FREE, share), ANNOTATION_BYTES_MAX)

    def encode(self, announced: bytes, parts: Parts) -> tuple[bytes, dict[AnnotationKind, int]]:
        """The header, empty if nothing fits, and the size of each part in it.

        Parameters
        ----------
        announced
            Digest of the receiver's announced set.
        parts
            The annotations, the most useful first. What does not fit is omitted.
        """
        sections: dict[int, bytes] = {}
        sizes: dict[AnnotationKind, int] = {}
        for kind, payload in parts.items():
            if header_bytes([*sizes.values(), len(payload)]) <= self._bytes_max:
                sections[SECTIONS[kind]] = payload
                sizes[kind] = len(payload)
        if not sections:
            return b"", sizes
        return encode_header(self._attested, announced, sections), sizes

    def decode(self, encoded: bytes, announced: bytes) -> Parts:
        """The annotations in a header.

        Raises
        ------
        AnnotationError
            The header is malformed, or states something about another document, under other limits
            or about another set of patterns.
        """
        sections = decode_header(encoded, self._attested, announced)
        return {_KINDS[number]: payload for number, payload in sections.items() if number in _KINDS}
