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
    place is not paired with the global root, and the local root is paired with another place only
    if most pairs are inside: otherwise nothing would be reached. If both roots remain and anything
    else is paired, they are paired by their position, whatever their value.
    """
    found = assigned(value, local, target, least)
    columns, rows = dict(found), {column: row for row, column in found}
    row, column = rows.get(ROOT, ROOT), columns.get(ROOT, ROOT)
    is_exchanged = bool(local.parents[row] == target.parents[column] == ROOT)
    if not is_exchanged:
        allowed = value.copy()
        allowed[ROOT + 1 :, ROOT] = 0.0
        if column != ROOT and not _has_most_inside(found, column, local, target):
            allowed[ROOT, ROOT + 1 :] = 0.0
        found = assigned(allowed, local, target, least)
    is_free = all(ROOT not in pair for pair in found)
    return [*found, (ROOT, ROOT)] if found and is_free else found


def _has_most_inside(found: list[tuple[int, int]], top: int, local: Side, target: Side) -> bool:
    """Whether more than half of the other pairs are inside the pair of the local root and ``top``.

    A place that is repeated below the root, but not below ``top``, does not count: the root is then
    a list of what ``top`` is.
    """
    inside = 0
    for row, column in found:
        is_repeated = _is_repeated(row, ROOT, local)
        is_repeated_there = _is_repeated(column, top, target)
        inside += is_repeated_there is not None and (is_repeated_there or not is_repeated)
    return 2 * inside > len(found) - 1


def _is_repeated(place: int, top: int, side: Side) -> bool | None:
    """Whether a place can occur several times in ``top``; ``None`` if it is not inside."""
    is_many = False
    # Parents precede their children.
    while place > top:
        is_many = is_many or side.occurs[place].many
        place = int(side.parents[place])
    return is_many if place == top else None


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
