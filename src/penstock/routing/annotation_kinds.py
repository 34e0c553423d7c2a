"""Kinds of annotations, and the options that select them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from penstock.errors import error


class AnnotationKind(StrEnum):
    """What a router can state about a document to the next one."""

    MATCH_LIST = "match-list"
    """Which patterns of the receiver's announced set match; the others do not."""

    POSITIVE_SUBSCRIPTIONS = "ps"
    """Patterns of the announced set that match, with bindings of their wildcards."""

    NEGATIVE_SUBSCRIPTIONS = "ns"
    """Patterns of the announced set that do not match."""

    POSITIVE_DATA = "pd"
    """Offsets past which nothing begins that a pattern of the announced set selects."""

    NEGATIVE_DATA = "nd"
    """Element names of the announced set that do not occur."""

    SKELETON = "skeleton"
    """The distinct label paths of the document."""


ALL_KINDS: Final = frozenset(AnnotationKind)
NO_KINDS: Final[frozenset[AnnotationKind]] = frozenset()
MATCH_LIST_ALONE: Final = frozenset({AnnotationKind.MATCH_LIST})


@dataclass(frozen=True, slots=True, kw_only=True)
class AnnotationOptions:
    """Which annotations a router sends and believes.

    Examples
    --------
    >>> AnnotationOptions(kinds=NO_KINDS, is_adaptive=False).kinds
    frozenset()
    """

    kinds: frozenset[AnnotationKind] = ALL_KINDS
    """The kinds that may be sent."""

    is_adaptive: bool = True
    """Whether kinds whose gain does not justify their bytes are omitted, for each neighbour."""

    uses_received: bool = True
    """Whether annotations of authenticated neighbours are used."""

    verified_share: float = 0.0
    """Share of the documents decided by annotations that are also read and compared."""

    def __post_init__(self) -> None:
        if not 0 <= self.verified_share <= 1:
            raise error("routing.option", "the share of verified documents is between 0 and 1")
