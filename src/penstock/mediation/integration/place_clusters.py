"""Clusters the places of several schemas that stand for one concept.

All schemas are matched with each other, and each proposed pair is a vote for one cluster. Two
clusters have the mean score of all pairs between them, where a pair that was not proposed counts as
0: a single wrong pair is outvoted, and places that no matching pairs directly can meet through
others. The clusters of values then tell which elements have the same content, and in a second round
the score of a pair of elements is the mean of its proposed score and the similarity of contents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from penstock.mediation.correspondence import Rating
from penstock.mediation.integration.average_linkage import AverageLinkage
from penstock.mediation.integration.content_similarity import content_similarities
from penstock.mediation.integration.sources import Source, SourcePlace, inner_places
from penstock.mediation.schema_matching import Abbreviations, match_schemas

VALUE_SCORE_MIN: Final = 0.4
"""Minimum mean score of two clusters of which one has places without children."""

INNER_SCORE_MIN: Final = 0.35
"""The same for clusters of places with children: there are fewer of them to be confused with."""


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
    """Clusters the places of all sources; the number of matchings is quadratic."""
    ratings: dict[SourcePlace, dict[SourcePlace, Rating]] = {}
    scores: dict[tuple[SourcePlace, SourcePlace], float] = {}
    for one, other, rating in _proposed_pairs(sources, abbreviations):
        ratings.setdefault(one, {})[other] = ratings.setdefault(other, {})[one] = rating
        scores[one, other] = rating.score
    first = _linked(sources, scores)
    inner = {each for number, source in enumerate(sources) for each in inner_places(number, source)}
    by_content = {
        pair: score / 2 if inner.issuperset(pair) else score for pair, score in scores.items()
    }
    for one, other, similarity in content_similarities(sources, first):
        by_content[one, other] = by_content.get((one, other), 0.0) + similarity / 2
    members = _linked(sources, by_content)
    numbers = {each: number for number, found in enumerate(members) for each in found}
    return PlaceClusters(members, numbers, ratings)


def _linked(
    sources: Sequence[Source], scores: Mapping[tuple[SourcePlace, SourcePlace], float]
) -> tuple[tuple[SourcePlace, ...], ...]:
    """The clusters by average linkage."""
    places = [
        (number, place) for number, source in enumerate(sources) for place in source.tree.places()
    ]
    inner = {each for number, source in enumerate(sources) for each in inner_places(number, source)}
    numbers = {place: number for number, place in enumerate(places)}
    linkage = AverageLinkage([source for source, _ in places])
    for (one, other), score in scores.items():
        least = INNER_SCORE_MIN if one in inner and other in inner else VALUE_SCORE_MIN
        linkage.add(numbers[one], numbers[other], score / least)
    linkage.merge_all()
    return tuple(tuple(places[each] for each in found) for found in linkage.clusters())


def _proposed_pairs(
    sources: Sequence[Source], abbreviations: Abbreviations
) -> Iterator[tuple[SourcePlace, SourcePlace, Rating]]:
    """The pairs of matching all sources with each other, that of the lower number first."""
    # A local root can correspond to an inner place, but no inner local place to the global root: a
    # schema of one record is matched with one of a list of records, not vice versa.
    depths = [max(len(place.path) for place in source.tree.places()) for source in sources]
    for one, other in combinations(range(len(sources)), 2):
        is_first_local = depths[one] < depths[other]
        local, target = (one, other) if is_first_local else (other, one)
        found = match_schemas(
            sources[local].tree,
            sources[target].tree,
            abbreviations=abbreviations,
            local_values=sources[local].values,
            target_values=sources[target].values,
        )
        for pair in found.pairs:
            places = (local, pair.local), (target, pair.target)
            first, second = places if is_first_local else places[::-1]
            yield first, second, pair.rating
