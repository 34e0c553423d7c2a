"""Selects pairs of places by value, each place at most once."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.tree_arrays import Side

DIGITS: Final = 9
"""Significant decimal digits of values; smaller differences are rounding errors."""


ROOT: Final = 0
"""The index of the root on either side."""


def assigned_with_roots(
    value: Matrix, local: Side, target: Side, least: float
) -> list[tuple[int, int]]:
    """The stable matching, with roots that operators can unite.

    Nothing can be moved above the local root, except by an Exchange with a child of it. So another
    place is not paired with the global root: then nothing below would be reached. If both roots
    remain and anything else is paired, they are paired by their position, whatever their value.
    """
    found = assigned(value, local, target, least)
    if not _has_possible_root(found, local, target):
        allowed = value.copy()
        allowed[ROOT + 1 :, ROOT] = 0.0
        found = assigned(allowed, local, target, least)
    is_free = all(ROOT not in pair for pair in found)
    return [*found, (ROOT, ROOT)] if found and is_free else found


def _has_possible_root(found: list[tuple[int, int]], local: Side, target: Side) -> bool:
    """Whether the global root has no partner, the local root, or one that is exchanged with it."""
    columns = dict(found)
    row = next((row for row, column in found if column == ROOT), ROOT)
    if row == ROOT:
        return True
    column = columns.get(ROOT, ROOT)
    return column != ROOT and bool(local.parents[row] == target.parents[column] == ROOT)


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
