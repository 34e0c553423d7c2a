"""Pairs of places chosen from the values of all pairs: each place once at most."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.sides import Side

DIGITS: Final = 9
"""Decimal digits that decide between pairs: differences below are those of rounding."""


def assigned(value: Matrix, local: Side, target: Side, least: float) -> list[tuple[int, int]]:
    """The stable marriage of both sides: no two places would both rather have each other.

    Both sides judge a pair by the same value, so taking the best pair that is left gives just that.
    Of pairs worth the same, that of the same path goes first, then the one further up.
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
