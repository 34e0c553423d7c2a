"""The networks that the piggyback experiments measure, and the annotations that they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from penstock.lab.routing.measured_network import Links, binary_tree, chain
from penstock.routing import NO_KINDS, AnnotationKind, AnnotationOptions
from penstock.routing.limits import AGGREGATE_NODES_MAX

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

    pool: int
    """Queries from which those of a given selectivity are chosen."""

    merged_nodes: int
    """A bound of announced sets at which patterns are merged."""

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
    pool=100_000,
    merged_nodes=4_000,
    large_from=20_000,
    large_documents=40,
)
QUICK = Scale(
    documents=40,
    repeats=2,
    lengths=(2, 4, 8),
    tree_depths=(2, 3),
    per_router=60,
    per_tree_router=60,
    subscriptions=(20, 100),
    percents=(5, 50),
    pool=2_000,
    merged_nodes=200,
    large_from=1_000,
    large_documents=20,
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
