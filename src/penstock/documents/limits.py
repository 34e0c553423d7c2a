"""Every limit of the reader, by name. The native core has the same, and a test compares them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

__all__ = ["RECORD_BYTES", "Limits"]

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

RECORD_BYTES: Final[int] = 64 * MIB
"""Bytes of a record that is cut out of a huge document, unless told otherwise. A longer one is
refused with the code ``limit.record-bytes``; the records after it are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the reader takes at most.

    Past a limit a document is refused with the code ``limit.`` and the limit's name, hyphens for
    underscores. Only ``window_bytes`` refuses nothing.

    >>> Limits(depth=20).depth
    20
    """

    document_bytes: int = 1 * GIB
    """Bytes of a document, as published."""

    depth: int = 1_000
    """Elements open at once."""

    attributes: int = 1_000
    """Attributes of one element: given, defaulted and namespace declarations."""

    name_bytes: int = 1_000
    """Bytes of a name in UTF-8, prefix included."""

    value_bytes: int = 1 * MIB
    """Bytes of an attribute's value in UTF-8, references expanded."""

    tag_bytes: int = 4 * MIB
    """Bytes of a start or end tag in UTF-8; a tag is held in memory whole."""

    doctype_bytes: int = 1 * MIB
    """Bytes of the document type declaration in UTF-8; it is held in memory whole."""

    entity_bytes: int = 8 * MIB
    """Bytes that a document's entities and attribute defaults expand to in all."""

    entity_depth: int = 16
    """Entities open within one another."""

    entity_amplification: int = 100
    """How many times longer than the document read so far its expansions may be; the first
    64 KiB of them are free."""

    names_bytes: int = 16 * MIB
    """Memory for the distinct names, prefixes and namespaces that one document brings, and for
    those kept from one document to the next."""

    window_bytes: int = 64 * KIB
    """Bytes taken from a stream at a time."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"the limit {field.name} must be a number from 1 on, not {value!r}"
                )

    def by_name(self) -> dict[str, int]:
        """Names and values, as the native core takes them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
