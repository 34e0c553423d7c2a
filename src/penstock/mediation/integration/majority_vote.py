"""Determines names and nesting of an integrated schema by majority of the local schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from penstock.documents import Name
from penstock.language.relations.path_universe import Occurs
from penstock.mediation.integration.place_properties import (
    Facts,
    FactsOf,
    above,
    child_of,
    facts_of,
    name_of,
    parent_of,
    tree_of,
)
from penstock.schema import Place, SchemaTree


@dataclass(frozen=True, slots=True)
class Member:
    """A place of a local schema in a cluster of corresponding places."""

    schema: int
    name: Name
    is_attribute: bool
    facts: Facts
    """Its path below ``holder``, including unmatched levels."""
    holder: Place | None
    """The cluster of its nearest placed ancestor."""


@dataclass(slots=True)
class _Cluster:
    """Corresponding places, identified by their place in the first merged schema."""

    members: list[Member] = field(default_factory=list)
    parent: Place | None = None
    children: list[Place] = field(default_factory=list)

    @property
    def is_attribute(self) -> bool:
        # A mapping can convert an attribute to an element, but not vice versa.
        return not self.children and all(member.is_attribute for member in self.members)

    def schemas(self) -> set[int]:
        return {member.schema for member in self.members}


def by_majority(
    first: SchemaTree, locals_: Sequence[SchemaTree], images: Sequence[Mapping[Place, Place]]
) -> tuple[SchemaTree, dict[Place, Place]]:
    """The majority tree, and the new place of each place of ``first``.

    ``images`` maps the places of each local schema to places of ``first``.
    """
    clusters = _clusters(first, locals_, images)
    root = Place((first.root.name,))
    _choose_parents(clusters, root)
    moved, facts = _named(clusters, root)
    cut_at = frozenset[str]().union(*(tree.cut_at for tree in locals_))
    return tree_of(facts, cut_at), moved


def _clusters(
    first: SchemaTree, locals_: Sequence[SchemaTree], images: Sequence[Mapping[Place, Place]]
) -> dict[Place, _Cluster]:
    clusters = {place: _Cluster() for place in first.places()}
    for number, (tree, image) in enumerate(zip(locals_, images, strict=True)):
        local = facts_of(tree)
        for place, facts in local.items():
            if place not in image:
                continue
            whole, holder = facts, None
            for level in above(place):
                if level in image:
                    holder = image[level]
                    break
                whole = Facts(_nested(local[level].occurs, whole.occurs), whole.text, whole.cut)
            clusters[image[place]].members.append(
                Member(number, name_of(place), place.attribute is not None, whole, holder)
            )
    return clusters


def _nested(outer: Occurs, inner: Occurs) -> Occurs:
    return Occurs(outer.required and inner.required, outer.many or inner.many)


def _choose_parents(clusters: Mapping[Place, _Cluster], root: Place) -> None:
    """Assigns parents by majority, clearest majorities first, without creating cycles."""
    order = {place: number for number, place in enumerate(clusters)}
    votes = Counter(
        (place, member.holder)
        for place, cluster in clusters.items()
        for member in cluster.members
        if member.holder is not None and place != root
    )

    def rank(vote: tuple[Place, Place]) -> tuple[int, bool, int, int]:
        place, holder = vote
        # Ties keep the structure of the first merged schema.
        return -votes[vote], holder != parent_of(place), order[place], order[holder]

    for place, holder in sorted(votes, key=rank):
        if clusters[place].parent is None and not _is_within(clusters, holder, place):
            clusters[place].parent = holder
    for place, cluster in clusters.items():
        if place != root:
            # The root of a local schema without counterparts.
            cluster.parent = cluster.parent or root
            clusters[cluster.parent].children.append(place)


def _is_within(clusters: Mapping[Place, _Cluster], place: Place, other: Place) -> bool:
    at: Place | None = place
    while at is not None and at != other:
        at = clusters[at].parent
    return at is not None


def _named(clusters: Mapping[Place, _Cluster], root: Place) -> tuple[dict[Place, Place], FactsOf]:
    """The place and properties of each cluster."""
    moved = {root: Place((next(_names(clusters[root], root)),))}
    facts = {moved[root]: _facts(clusters, root)}
    waiting = [root]
    while waiting:
        here = waiting.pop()
        # Larger clusters choose their names first.
        children = sorted(clusters[here].children, key=lambda each: -len(clusters[each].members))
        for child in children:
            cluster = clusters[child]
            places = (
                child_of(moved[here], name, is_attribute=cluster.is_attribute)
                for name in _names(cluster, child)
            )
            moved[child] = next(place for place in places if place not in facts)
            facts[moved[child]] = _facts(clusters, child)
        waiting.extend(reversed(clusters[here].children))
    # Siblings keep the order of the first schema.
    order = {moved[place]: number for number, place in enumerate(clusters)}
    return moved, dict(sorted(facts.items(), key=lambda item: order[item[0]]))


def _names(cluster: _Cluster, place: Place) -> Iterator[Name]:
    """Candidate names by number of votes, then an unused one."""
    votes = Counter(member.name for member in cluster.members)
    own = name_of(place)
    found = sorted(votes, key=lambda name: (-votes[name], name != own, name))
    yield from found
    for number in count(2):
        yield Name(found[0].uri, f"{found[0].local}-{number}")


def _facts(clusters: Mapping[Place, _Cluster], place: Place) -> Facts:
    """Properties that allow everything any member allows; required if all members require it."""
    cluster = clusters[place]
    parent = cluster.parent
    at_home = {member.schema for member in cluster.members if member.holder == parent}
    others = clusters[parent].schemas() if parent is not None else set()
    members = [member.facts for member in cluster.members]
    return Facts(
        Occurs(
            required=all(each.occurs.required for each in members) and others <= at_home,
            many=any(each.occurs.many for each in members),
        ),
        text=any(each.text for each in members),
        cut=any(each.cut for each in members),
    )
