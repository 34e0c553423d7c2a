"""Merges several schemas into one tree that has all their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.mediation.correspondence import SchemaMatching
from penstock.mediation.integration.place_clusters import PlaceClusters, cluster_places
from penstock.mediation.integration.schema_merge import Joined, Unplaced, join, merge
from penstock.mediation.integration.sources import Source
from penstock.mediation.limits import CLUSTERED_PAIRS_MAX, CLUSTERED_SCHEMAS_MAX
from penstock.mediation.schema_matching import Abbreviations
from penstock.schema import Place, SampleValues, SchemaTree


@dataclass(frozen=True, slots=True)
class Merged:
    """A tree with the places of all sources, and the matching of each source with it."""

    tree: SchemaTree
    matchings: tuple[SchemaMatching, ...]
    unplaced: tuple[tuple[Unplaced, ...], ...]


def merge_all(sources: Sequence[Source], abbreviations: Abbreviations) -> Merged:
    """Merges sources, given by decreasing size.

    The largest are matched with each other and clustered, within the limits; the others are matched
    with the result, one by one, so that the time for many sources remains linear.
    """
    clustered = _clustered_count(sources)
    clusters = cluster_places(sources[:clustered], abbreviations)
    order = sorted(range(clustered), key=lambda each: _has_inner_root(clusters, sources, each))
    merging = _ProgressiveMerge(sources[order[0]], order[0])
    images = {clusters.numbers[order[0], place]: place for place in sources[order[0]].tree.places()}
    for number in order[1:]:
        proposed = _by_clusters(clusters, number, sources[number].tree, images)
        joined = merge(merging.target.tree, sources[number].tree, proposed)
        for place, image in joined.matching.pairs:
            images.setdefault(clusters.numbers[number, place], image)
        merging.add(number, sources[number], joined)
    for number in range(clustered, len(sources)):
        merging.add(number, sources[number], join(merging.target, sources[number], abbreviations))
    return merging.merged()


def _clustered_count(sources: Sequence[Source]) -> int:
    """The number of leading sources that the limits allow to match with each other."""
    places = pairs = 0
    for number, source in enumerate(sources[:CLUSTERED_SCHEMAS_MAX]):
        size = sum(1 for _ in source.tree.places())
        pairs += places * size
        # Two sources are always matched: a limit of the matcher applies.
        if number > 1 and pairs > CLUSTERED_PAIRS_MAX:
            return number
        places += size
    return min(len(sources), CLUSTERED_SCHEMAS_MAX)


def _has_inner_root(clusters: PlaceClusters, sources: Sequence[Source], number: int) -> bool:
    """Whether the root of a source corresponds to another place than a root.

    Nothing can be placed above the root of the first source, so it is none of these if possible.
    """
    root = Place((sources[number].tree.root.name,))
    members = clusters.members[clusters.numbers[number, root]]
    return any(len(place.path) > 1 or place.attribute is not None for _, place in members)


def _by_clusters(
    clusters: PlaceClusters, number: int, tree: SchemaTree, images: Mapping[int, Place]
) -> SchemaMatching:
    """The pairs of a source's places with the merged places of their clusters."""
    owners: dict[Place, Place] = {}
    for place in tree.places():
        image = images.get(clusters.numbers[number, place])
        # Places of one name can have merged two clusters.
        if image is not None:
            owners.setdefault(image, place)
    pairs = tuple((place, image) for image, place in owners.items())
    return SchemaMatching(pairs, {place: clusters.rating((number, place)) for place, _ in pairs})


class _ProgressiveMerge:
    """The tree merged so far, with the values of its places."""

    def __init__(self, first: Source, number: int) -> None:
        self.target = first
        pairs = tuple((place, place) for place in first.tree.places())
        self._matchings = {number: SchemaMatching(pairs)}
        self._unplaced: dict[int, tuple[Unplaced, ...]] = {number: ()}

    def add(self, number: int, source: Source, joined: Joined) -> None:
        """Adds a source that has been merged."""
        images = dict(joined.matching.pairs)
        values = SampleValues(
            {
                images[place]: found
                for place, found in source.values.places.items()
                if place in images
            }
        )
        self.target = Source(joined.tree, self.target.values.merged(values))
        self._matchings[number] = joined.matching
        self._unplaced[number] = joined.unplaced

    def merged(self) -> Merged:
        """The result."""
        numbers = range(len(self._matchings))
        return Merged(
            self.target.tree,
            tuple(self._matchings[number] for number in numbers),
            tuple(self._unplaced[number] for number in numbers),
        )
