"""Clusters the places of several schemas that stand for one concept.

All schemas are matched with each other, and each proposed pair is a vote for one cluster. Two
clusters have the mean score of all pairs between them, where a pair that was not proposed counts as
0: a single wrong pair is outvoted, and places that no matching pairs directly can meet through
others. The most similar clusters are merged first (agglomerative clustering with average linkage),
as long as no cluster gets two places of one schema.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final, TypeAlias

from penstock.mediation.correspondence import Rating
from penstock.mediation.schema_matching import Abbreviations, match_schemas
from penstock.schema import Place, SampleValues, SchemaTree

VALUE_SCORE_MIN: Final = 0.4
"""Minimum mean score of two clusters of which one has places without children."""

INNER_SCORE_MIN: Final = 0.25
"""The same for clusters of places with children: there are fewer of them to be confused with, and
their scores differ more with the depth of the schemas."""


@dataclass(frozen=True, slots=True)
class Source:
    """A schema and the values of its sample documents, if there are any."""

    tree: SchemaTree
    values: SampleValues = field(default_factory=SampleValues)


SourcePlace: TypeAlias = tuple[int, Place]
"""The number of a source, and a place in it."""


@dataclass(frozen=True, slots=True)
class PlaceClusters:
    """A partition of the places of several sources."""

    members: tuple[tuple[SourcePlace, ...], ...]
    """The clusters, each with at most one place of each source."""
    numbers: Mapping[SourcePlace, int]
    """The cluster of each place."""
    ratings: Mapping[SourcePlace, Mapping[SourcePlace, Rating]]
    """The rating of each proposed pair, in both directions."""

    def rating(self, member: SourcePlace) -> Rating:
        """The mean score of the pairs of a place with the others of its cluster.

        It is uncertain if it is paired with fewer than half of them with certainty.
        """
        others = [each for each in self.members[self.numbers[member]] if each != member]
        proposed = self.ratings.get(member, {})
        pairs = [proposed[each] for each in others if each in proposed]
        certain = sum(not pair.is_uncertain for pair in pairs)
        score = sum(pair.score for pair in pairs) / max(len(pairs), 1)
        return Rating(score, is_uncertain=2 * certain < len(others))


def cluster_places(sources: Sequence[Source], abbreviations: Abbreviations) -> PlaceClusters:
    """Clusters the places of all sources; their number of matchings is quadratic."""
    places = [
        (number, place) for number, source in enumerate(sources) for place in source.tree.places()
    ]
    inner = {each for number, source in enumerate(sources) for each in _inner(number, source.tree)}
    linkage = _Linkage([number for number, _ in places])
    numbers = {place: number for number, place in enumerate(places)}
    ratings: dict[SourcePlace, dict[SourcePlace, Rating]] = {}
    for one, other, rating in _proposed_pairs(sources, abbreviations):
        ratings.setdefault(one, {})[other] = ratings.setdefault(other, {})[one] = rating
        least = INNER_SCORE_MIN if {one, other} <= inner else VALUE_SCORE_MIN
        linkage.add(numbers[one], numbers[other], rating.score / least)
    linkage.merge_all()
    members = tuple(tuple(places[each] for each in found) for found in linkage.clusters())
    of_place = {each: number for number, found in enumerate(members) for each in found}
    return PlaceClusters(members, of_place, ratings)


def _inner(number: int, tree: SchemaTree) -> Iterator[SourcePlace]:
    for path, node in tree.nodes().items():
        if node.children or node.attributes:
            yield number, Place(path)


def _proposed_pairs(
    sources: Sequence[Source], abbreviations: Abbreviations
) -> Iterator[tuple[SourcePlace, SourcePlace, Rating]]:
    # A local root can correspond to an inner place, but no inner local place to the global root: a
    # schema of one record is matched with one of a list of records, not vice versa.
    depths = [max(len(place.path) for place in source.tree.places()) for source in sources]
    for one, other in combinations(range(len(sources)), 2):
        number, target_number = (one, other) if depths[one] < depths[other] else (other, one)
        local, target = sources[number], sources[target_number]
        found = match_schemas(
            local.tree,
            target.tree,
            abbreviations=abbreviations,
            local_values=local.values,
            target_values=target.values,
        )
        for pair in found.pairs:
            yield (target_number, pair.target), (number, pair.local), pair.rating


class _Linkage:
    """Merges clusters by average linkage; those of one source are never merged."""

    def __init__(self, sources: Sequence[int]) -> None:
        self._members: list[list[int]] = [[number] for number in range(len(sources))]
        self._sources = [1 << source for source in sources]
        """The sources of each cluster, as bits."""
        self._sums: list[dict[int, float]] = [{} for _ in sources]
        """For each cluster, the sum of the weights of the pairs with each other cluster."""
        self._waiting: list[tuple[float, int, int]] = []

    def add(self, one: int, other: int, weight: float) -> None:
        """Adds a pair; clusters are merged if the mean weight of their pairs is at least 1."""
        self._sums[one][other] = self._sums[other][one] = weight

    def merge_all(self) -> None:
        """Merges the most similar clusters until none are similar enough."""
        for one, sums in enumerate(self._sums):
            for other in sums:
                if one < other:
                    self._push(one, other)
        while self._waiting:
            rank, one, other = heapq.heappop(self._waiting)
            # Entries of clusters that have changed since are out of date.
            if other in self._sums[one] and rank == -self._mean(one, other):
                self._merge(one, other)

    def clusters(self) -> Iterator[list[int]]:
        """The clusters, in the order of their first members."""
        return (sorted(found) for found in self._members if found)

    def _mean(self, one: int, other: int) -> float:
        pairs = len(self._members[one]) * len(self._members[other])
        return self._sums[one][other] / pairs

    def _push(self, one: int, other: int) -> None:
        mean = self._mean(one, other)
        if mean >= 1:
            heapq.heappush(self._waiting, (-mean, min(one, other), max(one, other)))

    def _merge(self, one: int, other: int) -> None:
        self._members[one] += self._members[other]
        self._members[other] = []
        self._sources[one] |= self._sources[other]
        del self._sums[one][other], self._sums[other][one]
        for third, total in self._sums[other].items():
            del self._sums[third][other]
            self._sums[one][third] = self._sums[third][one] = (
                self._sums[one].get(third, 0.0) + total
            )
        self._sums[other] = {}
        for third in list(self._sums[one]):
            if self._sources[one] & self._sources[third]:
                del self._sums[one][third], self._sums[third][one]
            else:
                self._push(one, third)
