"""Compares a transformed local schema with the global schema."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.schema_transformation import Transformed
from penstock.schema import Place, SchemaTree
from penstock.schema.outline import SIGNS


@dataclass(frozen=True, slots=True)
class Unreached:
    """A matched place that the mapping does not move to its global place."""

    local: Place
    wanted: Place
    reached: Place

    def __str__(self) -> str:
        return f"{self.local} should become {self.wanted}, but becomes {self.reached}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between a transformed local schema and the global one.

    If a complete branch differs, only its top is listed.
    """

    missing: tuple[Place, ...]
    """Global places that the transformed documents never have."""
    extra: tuple[Place, ...]
    """Places of the transformed documents that the global schema does not define."""
    cardinality: tuple[tuple[Place, str, str], ...]
    """Places with different cardinality or content: place, transformed, global."""

    @property
    def is_same(self) -> bool:
        """Whether both have the same places; cardinalities may differ."""
        return not self.missing and not self.extra


def compare(transformed: SchemaTree, target: SchemaTree) -> Comparison:
    """Compare two schema trees by place."""
    here, there = dict.fromkeys(transformed.places()), dict.fromkeys(target.places())
    return Comparison(
        missing=_tops([place for place in there if place not in here]),
        extra=_tops([place for place in here if place not in there]),
        cardinality=tuple(
            (place, one, other)
            for place in here
            if place in there
            and (one := _sign(transformed, place)) != (other := _sign(target, place))
        ),
    )


def unreached(transformed: Transformed, matching: SchemaMatching) -> tuple[Unreached, ...]:
    """The pairs of the matching that the operators do not unite."""
    return tuple(
        Unreached(local, wanted, transformed.places[local])
        for local, wanted in matching.pairs
        if transformed.places[local] != wanted
    )


def _tops(places: list[Place]) -> tuple[Place, ...]:
    """The places that are not inside another one."""
    paths = {place.path for place in places if place.attribute is None}
    return tuple(
        place
        for place in places
        if not any(place.path[:length] in paths for length in range(1, len(place.path)))
        and not (place.attribute is not None and place.path in paths)
    )


def _sign(tree: SchemaTree, place: Place) -> str:
    node = tree.root
    for name in place.path[1:]:
        child = node.child(name)
        assert child is not None, "the place is in the tree"
        node = child
    if place.attribute is None:
        return SIGNS[node.occurs] or "1"
    attribute = node.attribute(place.attribute)
    assert attribute is not None, "the place is in the tree"
    return "1" if attribute.required else "?"
