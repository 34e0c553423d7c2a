"""How a transformed local schema differs from the global one."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.transform import Transformed
from penstock.schema import Place, SchemaTree
from penstock.schema.outline import SIGNS


@dataclass(frozen=True, slots=True)
class Unreached:
    """A matched place that does not come to where the global schema has it."""

    local: Place
    wanted: Place
    reached: Place

    def __str__(self) -> str:
        return f"{self.local} should become {self.wanted}, and becomes {self.reached}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between a transformed local schema and the global one.

    Where a whole branch differs, its top is named.
    """

    missing: tuple[Place, ...]
    """What the global schema has, and these documents never."""
    extra: tuple[Place, ...]
    """What these documents have, and the global schema does not know."""
    cardinality: tuple[tuple[Place, str, str], ...]
    """What is in both, once otherwise than the other time: the place, here, and there."""

    @property
    def is_same(self) -> bool:
        """Whether both have the same places; how often each occurs may differ."""
        return not self.missing and not self.extra


def compare(transformed: SchemaTree, target: SchemaTree) -> Comparison:
    """Compare by place."""
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
    """The pairs of the matching that the operators do not bring together."""
    return tuple(
        Unreached(local, wanted, transformed.places[local])
        for local, wanted in matching.pairs
        if transformed.places[local] != wanted
    )


def _tops(places: list[Place]) -> tuple[Place, ...]:
    """Those that do not lie in another."""
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
