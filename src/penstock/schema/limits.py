"""The named limits of reading and unfolding a schema, all in one place."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class DtdLimits:
    """What a DTD may cost before it is refused with ``schema.limit``."""

    size_max: int = 8 * 1024 * 1024
    """Characters of the DTD itself."""

    expansion_max: int = 8 * 1024 * 1024
    """Characters that parameter entities may add, all references together."""

    entity_depth_max: int = 32
    """Parameter entities open within each other."""

    group_depth_max: int = 64
    """Groups open within each other in one content model."""

    declarations_max: int = 100_000
    """Element, attribute and entity declarations together."""

    def __post_init__(self) -> None:
        require_positive(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnfoldLimits:
    """Where unfolding a schema into a tree, or a query into label paths, stops.

    Nothing is refused at these limits: the result is cut, and says at which limit.
    """

    depth_max: int = 32
    """Elements on one path."""

    recursion_max: int = 3
    """Occurrences of one element on one path."""

    size_max: int = 100_000
    """Nodes of a tree, or paths (finished or not) that an expansion looks at."""

    def __post_init__(self) -> None:
        require_positive(self)


def require_positive(limits: DtdLimits | UnfoldLimits) -> None:
    """Refuse a limit below 1, which would refuse or cut everything."""
    for field in fields(limits):
        if getattr(limits, field.name) < 1:
            raise ValueError(f"{field.name} must be at least 1, not {getattr(limits, field.name)}")


FILE_DEPTH_MAX: Final[int] = 200
"""Levels of a tree in a schema or mapping file; a deeper one is refused with ``schema.file`` or
``mapping.syntax``."""

SAMPLE_PATHS_MAX: Final[int] = 100_000
"""Different paths in the samples that a schema is inferred from; past it they are refused with
``schema.samples``."""

SKETCH_VALUES_MAX: Final[int] = 64
"""Different values that are remembered of each place of the samples; of more, those with the
smallest hashes."""

VALUE_LENGTH_MAX: Final[int] = 256
"""Characters of a value that are looked at where the values of samples are compared."""

DTD_LIMITS = DtdLimits()
"""The defaults for reading a DTD."""

UNFOLD_LIMITS = UnfoldLimits()
"""The defaults for unfolding."""
