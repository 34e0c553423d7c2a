"""The children of a peer in one tree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, ValuesView

from penstock.overlay.child_link import ChildLink
from penstock.overlay.interest import Interest
from penstock.overlay.peer_messages import Attempt, Edge


class Children(Mapping[str, ChildLink]):
    """The children by name, with edges that the peer names, and the places that they hold.

    An edge is never used twice: a child that is removed and added again has another one. A place
    can be promised to a peer that takes the place of another child as soon as it is active, so
    there may be more children than the fan-out, but not more active ones.

    Parameters
    ----------
    incarnation
        Of the peer.
    """

    __slots__ = ("_incarnation", "_links", "edges_made")

    def __init__(self, incarnation: int) -> None:
        self._incarnation = incarnation
        self._links: dict[str, ChildLink] = {}
        self.edges_made = 0

    def __getitem__(self, name: str) -> ChildLink:
        return self._links[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._links)

    def __len__(self) -> int:
        return len(self._links)

    def __contains__(self, name: object) -> bool:
        return name in self._links

    def values(self) -> ValuesView[ChildLink]:
        """The links to the children."""
        return self._links.values()

    def active(self) -> list[ChildLink]:
        """Children to which documents are sent."""
        return [child for child in self._links.values() if child.is_active]

    def by_edge(self, name: str, edge: Edge | None) -> ChildLink | None:
        """The child of that name, if the edge is its present one."""
        child = self._links.get(name)
        return child if child is not None and child.edge == edge else None

    def add(self, name: str, attempt: Attempt, interest: Interest, now: float) -> ChildLink:
        """Make an edge, instead of another one to the same child."""
        self.edges_made += 1
        edge = Edge(self._incarnation, self.edges_made)
        child = self._links[name] = ChildLink(name, attempt, edge, interest, now)
        return child

    def remove(self, name: str) -> None:
        """Forget a child."""
        del self._links[name]

    def clear(self) -> None:
        """Forget all children."""
        self._links.clear()

    def have_place_for(self, joiner: str, spare: int) -> bool:
        """Whether a peer can become a child; ``spare`` is the spare capacity for others."""
        known = self._links.get(joiner)
        if known is not None:
            if known.displaced not in self._links:
                return True
            spare += 1  # It has the promise of another child's place, not one of its own.
        if spare > 0:
            return True
        return any(child.replacement == joiner for child in self._links.values())

    def can_be_displaced(self, displaced: str | None, mover: str) -> bool:
        """Whether a child can be displaced: nobody else takes its place already."""
        child = self._links.get(displaced) if displaced is not None else None
        return (
            child is not None
            and child.name != mover
            and child.is_active
            and child.replacement is None
            and all(
                each.displaced != displaced for each in self._links.values() if each.name != mover
            )
        )

    def replace_on_leaving(self, child: ChildLink, replacement: str) -> None:
        """Promise the place of a child that leaves, unless somebody takes it already."""
        attaching = self._links.get(child.replacement or "")
        if attaching is None or attaching.is_active:
            child.replacement = replacement
