"""Similarity of elements by content: elements are one concept if they contain the same concepts.

Names and similarity flooding compare two schemas. Here the concepts of all schemas are known: the
clusters of places with values. So a ``course_listing`` and a ``Course`` are compared by what is in
them, however deep.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import Final

from penstock.mediation.integration.place_properties import above, parent_of
from penstock.mediation.integration.sources import Source, SourcePlace, inner_places

SHARED_MIN: Final = 2
"""Concepts that two elements must share: one alone is also shared by unrelated elements."""

WRAPPER: Final = 0.8
"""Weight if only one of two elements is a wrapper: one of its children contains all that the other
schema knows of its content. Otherwise the list of courses would be as similar to a course as
another course."""


def content_similarities(
    sources: Sequence[Source], clusters: Iterable[Sequence[SourcePlace]]
) -> Iterator[tuple[SourcePlace, SourcePlace, float]]:
    """The pairs of inner places of different sources with similar contents, from 0 to 1."""
    contents = _Contents(sources, clusters)
    for one, other in combinations(contents.places(), 2):
        similarity = contents.similarity(one, other) if one[0] != other[0] else 0.0
        if similarity:
            yield one, other, similarity


class _Contents:
    """The concepts in each inner place, as bits: the clusters of places without children."""

    def __init__(
        self, sources: Sequence[Source], clusters: Iterable[Sequence[SourcePlace]]
    ) -> None:
        self._inside: dict[SourcePlace, int] = {
            each: 0
            for number, source in enumerate(sources)
            for each in inner_places(number, source)
        }
        self._children: dict[SourcePlace, list[SourcePlace]] = {}
        for number, place in self._inside:
            parent = parent_of(place)
            if parent is not None:
                self._children.setdefault((number, parent), []).append((number, place))
        self._all = [0] * len(sources)
        for bit, members in enumerate(clusters):
            for number, place in members:
                if (number, place) not in self._inside:
                    self._all[number] |= 1 << bit
                    for level in above(place):
                        self._inside[number, level] |= 1 << bit

    def places(self) -> Iterator[SourcePlace]:
        """The inner places of all sources, in order."""
        return iter(self._inside)

    def similarity(self, one: SourcePlace, other: SourcePlace) -> float:
        """The Dice coefficient of the concepts that both sources have."""
        known = self._all[one[0]] & self._all[other[0]]
        here, there = self._inside[one] & known, self._inside[other] & known
        shared = (here & there).bit_count()
        if shared < SHARED_MIN:
            return 0.0
        dice = 2 * shared / (here.bit_count() + there.bit_count())
        is_unequal = self._is_wrapper(one, known) != self._is_wrapper(other, known)
        return WRAPPER * dice if is_unequal else dice

    def _is_wrapper(self, place: SourcePlace, known: int) -> bool:
        inside = self._inside[place] & known
        children = self._children.get(place, ())
        return any(self._inside[child] & known == inside for child in children)
