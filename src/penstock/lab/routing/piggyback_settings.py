"""The networks that the piggyback experiments measure, and the annotations that they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from penstock.lab.routing.measured_network import Links, binary_tree, chain
from penstock.routing import NO_KINDS, AnnotationKind, AnnotationOptions
from penstock.routing.limits import AGGREGATE_NODES_MAX, ANNOTATION_REPORT_DOCUMENTS

NONE = "none"
ALL = "all that pay"

SIDES: Final = {
    NONE: AnnotationOptions(kinds=NO_KINDS),
    **{
        str(kind): AnnotationOptions(kinds=frozenset({kind}), is_adaptive=False)
        for kind in AnnotationKind
    },
    "ps + ns + pd + nd": AnnotationOptions(
        kinds=frozenset(AnnotationKind) - {AnnotationKind.MATCH_LIST, AnnotationKind.SKELETON},
        is_adaptive=False,
    ),
    "all, fixed": AnnotationOptions(is_adaptive=False),
    ALL: AnnotationOptions(),
}
"""The annotations that are compared: none, each kind alone, and all."""

Shape = Literal["chain", "tree"]

ROUND_DOCUMENTS_MIN: Final = 2 * ANNOTATION_REPORT_DOCUMENTS
"""Documents of a round: with fewer, routers would change kinds after a round at the earliest."""


@dataclass(frozen=True, slots=True)
class Scale:
    """The sizes of the experiments."""

    documents: int
    repeats: int
    lengths: tuple[int, ...]
    tree_depths: tuple[int, ...]
    per_router: int
    """Subscriptions of each router of a chain, where it does not vary."""

    per_tree_router: int
    """Subscriptions of each router of a tree. All cores are in one process, and every router of 63
    has announced sets over the subscriptions of the others: with 1,000 each, they take tens of
    gigabytes."""

    subscriptions: tuple[int, ...]
    percents: tuple[float, ...]
    """Shares of the documents that the subscribers of a router want."""

    selective_documents: int
    """Documents where that share varies: the smallest one is that of whole documents."""

    pool: int
    """Queries from which those of a given selectivity are chosen."""

    bounds: tuple[int, ...]
    """Bounds of announced sets, ascending. With the first, patterns are merged; the last one has
    room for all."""

    large_from: int
    """Subscriptions of all routers from which on a network routes fewer documents: kinds that
    decide subscription by subscription take tens of milliseconds a document."""

    large_documents: int


FULL = Scale(
    documents=300,
    repeats=3,
    lengths=(2, 3, 4, 5, 6, 7, 8),
    tree_depths=(2, 3, 4, 5, 6),
    per_router=1_000,
    per_tree_router=100,
    subscriptions=(100, 1_000, 10_000, 100_000),
    percents=(0.1, 1, 5, 20, 50),
    selective_documents=1_000,
    pool=100_000,
    bounds=(4_000, 8_000, 16_000, 32_000),
    large_from=20_000,
    large_documents=ROUND_DOCUMENTS_MIN,
)
QUICK = Scale(
    documents=ROUND_DOCUMENTS_MIN,
    repeats=2,
    lengths=(2, 4, 8),
    tree_depths=(2, 3),
    per_router=60,
    per_tree_router=60,
    subscriptions=(20, 100),
    percents=(5, 50),
    selective_documents=200,
    pool=20_000,
    bounds=(200, 2_000),
    large_from=1_000,
    large_documents=ROUND_DOCUMENTS_MIN,
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A network and the documents that it routes with each choice of annotations."""

    shape: Shape
    routers: int
    per_router: int
    """Subscriptions of each router."""

    documents: int
    repeats: int
    pool: int
    """As in :class:`Scale`."""

    bound: int = AGGREGATE_NODES_MAX
    percent: float | None = None
    """The share of the documents that the subscribers of a router want; ``None`` if queries are
    not chosen by that."""

    @property
    def links(self) -> Links:
        """The links of the routers."""
        if self.shape == "chain":
            return chain(self.routers)
        return binary_tree((self.routers + 1).bit_length() - 1)

    def __str__(self) -> str:
        parts = [f"{self.shape} of {self.routers} routers"]
        if self.percent is None:
            parts.append(f"{self.per_router:,} subscriptions each")
        else:
            parts.append(f"{self.percent}% of the documents wanted")
        if self.bound < AGGREGATE_NODES_MAX:
            parts.append("merged sets")
        return ", ".join(parts)
