"""Matches two schemas: scores all pairs of places and proposes the best."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.errors import error
from penstock.mediation.correspondence import Rating, SchemaMatching
from penstock.mediation.limits import MATCHED_PAIRS_MAX
from penstock.mediation.schema_matching.assignment import assigned_with_roots
from penstock.mediation.schema_matching.kind_similarity import (
    corresponding_kinds,
    kind_similarities,
)
from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.name_words import Abbreviations
from penstock.mediation.schema_matching.place_name_similarity import place_name_similarities
from penstock.mediation.schema_matching.similarity_flooding import flooded
from penstock.mediation.schema_matching.tree_arrays import Side
from penstock.mediation.schema_matching.value_similarity import value_similarities
from penstock.schema import Place, SampleValues, SchemaTree

SCORE_MIN: Final = 0.5
"""Minimum score of a proposed pair, except of the roots."""

CERTAIN_MIN: Final = 0.75
"""Minimum score of a certain pair."""

NAMES_MIN: Final = 0.3
"""Minimum name similarity of a certain pair."""

LEAD_MIN: Final = 0.05
"""Minimum lead of a certain pair over competing pairs."""

NAMES_WEIGHT: Final = 0.57
KINDS_WEIGHT: Final = 0.13
VALUES_WEIGHT: Final = 0.3
"""Weights of the parts of a score; without values, their weight is distributed."""

VALUES_ALONE: Final = 0.85
"""Minimum fraction of the values' similarity for a pair: values can compensate for names."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a score, each from 0 to 1."""

    names: float
    kinds: float
    structure: float
    values: float | None
    """``None`` if one side has no sample values."""


@dataclass(frozen=True, slots=True)
class ProposedPair:
    """A proposed correspondence of a local and a global place."""

    local: Place
    target: Place
    rating: Rating
    parts: Parts
    rival: tuple[Place, Place] | None = None
    """A competing pair with almost the same score, if any."""


@dataclass(frozen=True, slots=True)
class ProposedMatching:
    """The result of matching two schemas, in schema order."""

    pairs: tuple[ProposedPair, ...]
    unmatched_local: tuple[Place, ...]
    unmatched_target: tuple[Place, ...]

    @property
    def matching(self) -> SchemaMatching:
        """The pairs with their ratings, for a matching file or a derivation."""
        return SchemaMatching(
            tuple((pair.local, pair.target) for pair in self.pairs),
            {pair.local: pair.rating for pair in self.pairs},
        )

    def to_text(self) -> str:
        """The matching file, with unmatched places as comments."""
        return self.matching.to_text(self.unmatched_local, self.unmatched_target)


def match_schemas(
    local: SchemaTree,
    target: SchemaTree,
    *,
    abbreviations: Abbreviations | None = None,
    local_values: SampleValues | None = None,
    target_values: SampleValues | None = None,
) -> ProposedMatching:
    r"""Find corresponding places of two schemas.

    Parameters
    ----------
    local, target
        The local schema and the global one.
    abbreviations
        Abbreviations; by default the built-in table.
    local_values, target_values
        Values of sample documents by place, used where both sides have some.

    Examples
    --------
    >>> from penstock.schema import read_tree
    >>> local = read_tree("penstock schema 1\ndept\n  courseNo text")
    >>> target = read_tree("penstock schema 1\ndepartment\n  course_number text")
    >>> print(match_schemas(local, target).matching.to_text(), end="")
    penstock matching 1
    /dept          /department               1.00
    /dept/courseNo /department/course_number 1.00
    """
    sides = Side.of(local), Side.of(target)
    if len(sides[0]) * len(sides[1]) > MATCHED_PAIRS_MAX:
        sizes = f"{len(sides[0]):,} and {len(sides[1]):,} places"
        raise error(
            "mapping.pairs", f"schemas of {sizes} make more than {MATCHED_PAIRS_MAX:,} pairs"
        )
    evidence = _Evidence(
        *sides,
        abbreviations or Abbreviations.shipped(),
        (local_values or SampleValues(), target_values or SampleValues()),
    )
    pairs = {pair.local: pair for pair in evidence.pairs()}
    taken = {pair.target for pair in pairs.values()}
    return ProposedMatching(
        tuple(pairs[place] for place in local.places() if place in pairs),
        tuple(place for place in local.places() if place not in pairs),
        tuple(place for place in target.places() if place not in taken),
    )


class _Evidence:
    """The evidence for each pair of places."""

    def __init__(
        self,
        local: Side,
        target: Side,
        abbreviations: Abbreviations,
        values: tuple[SampleValues, SampleValues],
    ) -> None:
        self._local, self._target = local, target
        self._names = place_name_similarities(local, target, abbreviations)
        self._kinds = kind_similarities(local, target)
        self._values = value_similarities(local, target, *values)
        own = _weighted(self._names, self._kinds, self._values)
        self._score, self._structure = flooded(
            own, corresponding_kinds(local, target), local, target
        )

        self._settled = np.zeros(len(local)), np.zeros(len(target))
        """The scores of the pairs of each local and of each global place."""

    def pairs(self) -> Iterator[ProposedPair]:
        """The best pairs, best first; each place occurs at most once."""
        found = assigned_with_roots(self._score, self._local, self._target, SCORE_MIN)
        for row, column in found:
            self._settled[0][row] = self._settled[1][column] = self._score[row, column]
        for row, column in found:
            yield self._pair(row, column)

    def _pair(self, row: int, column: int) -> ProposedPair:
        score = float(self._score[row, column])
        names = float(self._names[row, column])
        rival = self._rival(row, column)
        values = float(self._values[row, column])
        return ProposedPair(
            self._local.places[row],
            self._target.places[column],
            Rating(min(score, 1.0), score < CERTAIN_MIN or names < NAMES_MIN or rival is not None),
            Parts(
                names,
                float(self._kinds[row, column]),
                float(self._structure[row, column]),
                None if np.isnan(values) else values,
            ),
            rival,
        )

    def _rival(self, row: int, column: int) -> tuple[Place, Place] | None:
        others = self._score[row, :].copy(), self._score[:, column].copy()
        others[0][column] = others[1][row] = 0.0
        # A place that has a clearly better partner does not compete.
        others[0][others[0] <= self._settled[1] - LEAD_MIN] = 0.0
        others[1][others[1] <= self._settled[0] - LEAD_MIN] = 0.0
        best = int(others[0].argmax()), int(others[1].argmax())
        if max(others[0][best[0]], others[1][best[1]]) <= self._score[row, column] - LEAD_MIN:
            return None
        is_in_row = others[0][best[0]] >= others[1][best[1]]
        pair = (row, best[0]) if is_in_row else (best[1], column)
        return self._local.places[pair[0]], self._target.places[pair[1]]


def _weighted(names: Matrix, kinds: Matrix, values: Matrix) -> Matrix:
    by_schema = NAMES_WEIGHT * names + KINDS_WEIGHT * kinds
    alone = by_schema / (NAMES_WEIGHT + KINDS_WEIGHT)
    with_values = by_schema + VALUES_WEIGHT * values
    found: Matrix = np.where(
        np.isnan(values), alone, np.maximum(with_values, VALUES_ALONE * values)
    )
    return found
