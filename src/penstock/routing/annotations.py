"""The annotations of forwarded documents: what a router states, and what it believes."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.documents import Document, Limits
from penstock.routing.annotation_header import (
    MATCH_LIST_SECTION,
    AnnotationError,
    AnnotationHeader,
    decode_header,
    document_digest,
    encode_header,
    header_bytes,
    limits_digest,
)
from penstock.routing.annotation_kinds import AnnotationKind
from penstock.routing.limits import (
    ANNOTATION_BYTES_FREE,
    ANNOTATION_BYTES_MAX,
    ANNOTATION_SHARE_MAX,
)

_SECTION_OF = {AnnotationKind.MATCH_LIST: MATCH_LIST_SECTION}


class Annotator:
    """Makes and checks the headers of one router.

    Parameters
    ----------
    limits
        The limits of reading; an attestation under other limits is not believed.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits_digest(limits)

    def encode(
        self, document: Document, announced: bytes, parts: Mapping[AnnotationKind, bytes]
    ) -> tuple[bytes, Mapping[AnnotationKind, int]]:
        """The header of a document that was read or is attested, and the size of each part in it.

        Parts that do not fit are omitted, in the order in which they are given.

        Parameters
        ----------
        document
            The document.
        announced
            Digest of the receiver's announced set.
        parts
            The annotations by kind, the most useful first.
        """
        size = len(document.content)
        bytes_max = min(
            max(ANNOTATION_BYTES_FREE, int(ANNOTATION_SHARE_MAX * size)), ANNOTATION_BYTES_MAX
        )
        sections: dict[int, bytes] = {}
        sizes: dict[AnnotationKind, int] = {}
        for kind, payload in parts.items():
            extended = {**sections, _SECTION_OF[kind]: payload}
            if header_bytes(extended) <= bytes_max:
                sections = extended
                sizes[kind] = len(payload)
        if not sections:
            return b"", sizes
        header = AnnotationHeader(
            document=document_digest(document),
            content_bytes=size,
            limits=self._limits,
            announced=announced,
            sections=sections,
        )
        return encode_header(header), sizes

    def decode(
        self, encoded: bytes, document: Document, announced: bytes
    ) -> Mapping[AnnotationKind, bytes]:
        """The annotations of a document, if they can be believed.

        Raises
        ------
        AnnotationError
            The header is malformed, or states something about another document, under other limits
            or about another set of patterns.
        """
        header = decode_header(encoded)
        if header.document != document_digest(document) or header.content_bytes != len(
            document.content
        ):
            raise AnnotationError("the header is that of another document")
        if header.limits != self._limits:
            raise AnnotationError("the document was read under other limits")
        if header.announced != announced:
            raise AnnotationError("the header refers to another announced set")
        return {
            kind: header.sections[number]
            for kind, number in _SECTION_OF.items()
            if number in header.sections
        }
