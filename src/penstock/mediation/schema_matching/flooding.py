"""Similarity that spreads over two trees: places are alike if what is around them is alike.

This is similarity flooding (Melnik, Garcia-Molina, Rahm: ICDE 2002). Pairs of places are the nodes
of a propagation graph; a pair passes what it is worth to the pairs of its parents and children,
until nothing changes. Two things differ from the paper, and make the result a figure that can be
shown:

- A pair hears from the *best* pairs around it, as a mean, and not from all of them as a sum. Sums
  favour nodes with many children, and need a normalisation after which a value means nothing by
  itself. Here what is the same all around is worth 1, anything else less.
- What is heard counts for a part of the value, so each step brings all values closer to the one
  fixpoint, wherever they began, and by a known factor.

A level may be there on one side only, so grandparents and grandchildren are heard too, a little
less.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.sides import Indexes, Side

STRUCTURE_WEIGHT: Final = 0.35
"""How much of a pair's value comes from around it; the rest is its own."""

STRUCTURE_ALONE: Final = 0.85
"""What a pair is worth at least of what is around it, where both places have several children:
these can tell what a name in another language cannot."""

LEVEL_BETWEEN: Final = 0.85
"""What is heard across a level that the other schema does not have, as a part."""

ROOT_BELOW: Final = 0.3
"""What a root hears from above in a pair with a node that is no root."""

CHANGE_MIN: Final = 1e-3
"""Flooding ends when no value changes by more."""


def flooded(own: Matrix, local: Side, target: Side) -> tuple[Matrix, Matrix]:
    """The value of each pair that is worth ``own`` by itself, and what is heard from around it."""
    value = own
    has_many = np.logical_and.outer(local.child_counts > 1, target.child_counts > 1)
    while True:
        around = _around(value, local, target)
        new = (1 - STRUCTURE_WEIGHT) * own + STRUCTURE_WEIGHT * around
        new = np.maximum(new, np.where(has_many, STRUCTURE_ALONE * around, 0.0))
        # A contraction: the change shrinks by the larger of the two weights each time.
        if float(np.abs(new - value).max()) <= CHANGE_MIN:
            return new, around
        value = new


def _around(value: Matrix, local: Side, target: Side) -> Matrix:
    above = _above(value, local, target)
    below = _below(value, local, target)
    # Two leaves have nothing below them: they are judged by what is above.
    has_below = np.logical_or.outer(local.child_counts > 0, target.child_counts > 0)
    return np.where(has_below, (above + below) / 2, above)


def _above(value: Matrix, local: Side, target: Side) -> Matrix:
    """What the parents of a pair are worth, or a parent and a grandparent."""
    near, far = local.parents, _grandparents(local)
    other_near, other_far = target.parents, _grandparents(target)
    best = _pairs(value, near, other_near)
    for rows, columns in ((near, other_far), (far, other_near)):
        best = np.maximum(best, LEVEL_BETWEEN * _pairs(value, rows, columns))
    best[0, :] = np.maximum(best[0, :], ROOT_BELOW)
    best[:, 0] = np.maximum(best[:, 0], ROOT_BELOW)
    best[0, 0] = 1.0
    return best


def _grandparents(side: Side) -> Indexes:
    # The root's parent is -1, which would count from the end: it is asked for and then masked.
    return np.where(side.parents < 0, side.parents, side.parents[side.parents])


def _pairs(value: Matrix, rows: Indexes, columns: Indexes) -> Matrix:
    """The values of these pairs; 0 where one of the two is not there."""
    found: Matrix = value[np.ix_(rows, columns)]
    found[rows < 0, :] = 0.0
    found[:, columns < 0] = 0.0
    return found


def _below(value: Matrix, local: Side, target: Side) -> Matrix:
    """How well children of both find each other: the mean of their best pairs, side by side."""
    here = _heard_by_parents(_best_below(value, target), local)
    here /= np.maximum(local.child_counts, 1)[:, np.newaxis]
    there = _heard_by_parents(_best_below(value.T, local), target).T
    there /= np.maximum(target.child_counts, 1)[np.newaxis, :]
    return (here + there) / 2


def _best_below(value: Matrix, target: Side) -> Matrix:
    """For each row its best among the children of each column, or among their children."""
    near = _best_child(value, target)
    return np.maximum(near, LEVEL_BETWEEN * _best_child(near, target))


def _best_child(value: Matrix, side: Side) -> Matrix:
    found = np.zeros_like(value)
    if len(side.inner):
        # Columns up to the first child are nobody's children; the last group ends with the matrix.
        found[:, side.inner] = np.maximum.reduceat(value, side.first_children, axis=1)
    return found


def _heard_by_parents(best: Matrix, side: Side) -> Matrix:
    found = np.zeros_like(best)
    if len(side.inner):
        found[side.inner, :] = np.add.reduceat(best, side.first_children, axis=0)
    return found
