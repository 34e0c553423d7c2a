"""Selects pairs of places by value, each place at most once."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.tree_arrays import Side

DIGITS: Final = 9
"""Significant decimal digits of values; smaller differences are rounding errors."""


def assigned(value: Matrix, local: Side, target: Side, least: float) -> list[tuple[int, int]]:
    """The stable matching of both sides.

    Both sides rank pairs by the same value, so greedily taking the best remaining pair is stable.
    Ties are broken by equal paths, then by lower depth.
    """
    rounded = np.round(value, DIGITS)
    rows, columns = np.nonzero(rounded >= least)
    other_places = {place: number for number, place in enumerate(target.places)}
    twins = np.array([other_places.get(place, -1) for place in local.places])
    order = np.lexsort((columns, rows, twins[rows] != columns, -rounded[rows, columns]))
    found: list[tuple[int, int]] = []
    taken, other_taken = set[int](), set[int]()
    for row, column in zip(rows[order].tolist(), columns[order].tolist(), strict=True):
        if row not in taken and column not in other_taken:
            taken.add(row)
            other_taken.add(column)
            found.append((row, column))
    return found
