"""The limits of the reader. The native core defines the same limits; a test compares them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

__all__ = ["RECORD_BYTES", "Limits"]

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

RECORD_BYTES: Final[int] = 64 * MIB
"""Default maximum size of a record cut from a huge document. A longer record is refused with the
code ``limit.record-bytes``; the following records are still read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Upper bounds of the reader.

    A document that exceeds a limit is refused with the code ``limit.`` and the limit's name, with
    hyphens for underscores. ``window_bytes`` refuses nothing, and ``work`` sets subscriptions aside
    instead.

    >>> Limits(depth=20).depth
    20
    """

    document_bytes: int = 1 * GIB
    """Bytes of a document, as published."""

    depth: int = 1_000
    """Nesting depth of elements."""

    attributes: int = 1_000
    """Attributes of one element, including defaults and namespace declarations."""

    name_bytes: int = 1_000
    """Bytes of a name in UTF-8, prefix included."""

    value_bytes: int = 1 * MIB
    """Bytes of an attribute's value in UTF-8, references expanded."""

    tag_bytes: int = 4 * MIB
    """Bytes of a start or end tag in UTF-8; a tag is buffered completely."""

    xml_declaration_bytes: int = 1 * KIB
    """Bytes of the XML declaration in UTF-8; it is buffered completely."""

    doctype_bytes: int = 1 * MIB
    """Bytes of the document type declaration in UTF-8; it is buffered completely."""

    declarations: int = 20_000
    """Declarations in the document type declaration; each attribute counts."""

    entity_bytes: int = 8 * MIB
    """Total bytes of all expansions of entities in a document, and of attribute defaults as if
    they were written in the tags."""

    entity_depth: int = 16
    """Nesting depth of entity references."""

    entity_amplification: int = 100
    """Maximum ratio of expanded bytes to document bytes read so far, and of what records inherit
    from the document (namespaces, expansions); the first 64 KiB are exempt."""

    names_bytes: int = 16 * MIB
    """Memory for the distinct names, prefixes and namespaces of one document, and for those cached
    across documents."""

    namespaces: int = 1_000
    """Namespace prefixes in scope at once."""

    window_bytes: int = 64 * KIB
    """Bytes read from a stream at a time."""

    work: int = 1_000
    """Steps of matching for each byte of a document; a step takes roughly a nanosecond. Past this
    work budget, the most expensive subscriptions are set aside for the document, and all others are
    matched exactly. A document of any size may take the steps of 500 bytes more and, by default, 75
    steps for each subscription of the index."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"the limit {field.name} must be a positive integer, not {value!r}"
                )

    def by_name(self) -> dict[str, int]:
        """Names and values, as the native core expects them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
