"""The limits of reading and unfolding schemas."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DtdLimits:
    """Limits of a DTD; beyond them it is refused with ``schema.limit``."""

    size_max: int = 8 * 1024 * 1024
    """Characters of the DTD itself."""

    expansion_max: int = 8 * 1024 * 1024
    """Total characters added by parameter entity references."""

    entity_depth_max: int = 32
    """Nesting depth of parameter entities."""

    group_depth_max: int = 64
    """Nesting depth of groups in a content model."""

    declarations_max: int = 100_000
    """Element, attribute and entity declarations together."""

    def __post_init__(self) -> None:
        require_positive(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfoldLimits:
    """Limits of unfolding a schema to a tree and expanding a query to label paths.

    Nothing is refused at these limits: the result is truncated and names the limit.
    """

    depth_max: int = 32
    """Elements on one path."""

    recursion_max: int = 3
    """Occurrences of one element on one path."""

    size_max: int = 100_000
    """Nodes of a tree, or complete and partial paths that an expansion visits."""

    def __post_init__(self) -> None:
        require_positive(self)


def require_positive(limits: DtdLimits | UnfoldLimits) -> None:
    """Refuses limits below 1, which would refuse or truncate everything."""
    for field in fields(limits):
        if getattr(limits, field.name) < 1:
            raise ValueError(f"{field.name} must be at least 1, not {getattr(limits, field.name)}")


FILE_DEPTH_MAX: Final[int] = 200
"""Levels of a tree in a schema or mapping file, or of a sample document; a deeper one is refused
with ``schema.file``, ``mapping.syntax`` or ``schema.samples``."""

FILE_BYTES_MAX: Final[int] = 64 << 20
"""Bytes of a schema or mapping file; a longer one is refused with ``schema.file`` or
``mapping.syntax``."""

XSD_BYTES_MAX: Final[int] = 8 << 20
"""Bytes of an XSD and of the files that it includes and imports, together; beyond it, the XSD is
refused with ``schema.limit``."""

XSD_FILES_MAX: Final[int] = 200
"""Files that an XSD consists of; beyond it, the XSD is refused with ``schema.limit``."""

XSD_COMPARISONS_MAX: Final[int] = 2_000_000
"""Comparisons of elements that checking the content models of an XSD takes, estimated in advance:
for each model, the square of its number of elements, and more for substitution groups. 2,000,000
take some seconds. Beyond it, the XSD is refused with ``schema.limit``."""

XSD_ATTRIBUTES_MAX: Final[int] = 200_000
"""Attributes of all types and groups of an XSD, with those that each refers to or inherits.
200,000 take some seconds. Beyond it, the XSD is refused with ``schema.limit``."""

SAMPLE_PATHS_MAX: Final[int] = 100_000
"""Distinct paths in the samples of an inferred schema; beyond it, the samples are refused with
``schema.samples``."""

SHAPES_MAX: Final[int] = 64
"""Patterns of values counted per place of the samples; those with the same hash count as one."""

SKETCH_VALUES_MAX: Final[int] = 64
"""Distinct values stored per place of the samples; if there are more, those with the smallest
hashes."""

SKETCH_WORDS_MAX: Final[int] = 1024
"""Words of values counted per place of the samples; those with the same hash count as one."""

VALUE_LENGTH_MAX: Final[int] = 256
"""Leading characters of a sample value that are compared."""

DTD_LIMITS = DtdLimits()
"""The defaults for reading a DTD."""

UNFOLD_LIMITS = UnfoldLimits()
"""The defaults for unfolding."""
