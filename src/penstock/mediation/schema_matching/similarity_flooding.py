"""Similarity flooding over two trees: places are similar if their neighbours are similar.

Based on similarity flooding (Melnik, Garcia-Molina, Rahm: ICDE 2002). Pairs of places are the nodes
of a propagation graph; a pair propagates its similarity to the pairs of its parents and children
until a fixpoint. Two differences from the paper make the values interpretable:

- A pair receives the *mean* of its best neighbouring pairs instead of the sum of all. Sums favour
  nodes with many children and require a normalisation after which absolute values are meaningless.
  Here identical neighbourhoods have similarity 1.
- The received similarity has a fixed weight, so each step is a contraction with a known factor and
  converges to a unique fixpoint.

A level may exist on one side only, so grandparents and grandchildren contribute with a lower
weight.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.tree_arrays import Indexes, Side

STRUCTURE_WEIGHT: Final = 0.35
"""Weight of the neighbourhood in the value of a pair."""

STRUCTURE_ALONE: Final = 0.85
"""Minimum fraction of the neighbourhood's value for a pair whose places both have several children:
structure can compensate for names in another language."""

LEVEL_BETWEEN: Final = 0.85
"""Weight of similarity propagated across a level that is missing in the other schema."""

REPEATED_LEVEL_BETWEEN: Final = 0.6
"""The same across a level that is repeated: its content is not that of its parent."""

ROOT_BELOW: Final = 0.3
"""Similarity from above for a pair of a root and a non-root."""

CHANGE_MIN: Final = 1e-3
"""Flooding stops when no value changes by more than this."""


def flooded(
    own: Matrix, possible: npt.NDArray[np.bool_], local: Side, target: Side
) -> tuple[Matrix, Matrix]:
    """The values of all pairs with initial similarity ``own``, and their neighbourhood values.

    Pairs that are not ``possible`` have the value 0, so they propagate nothing.
    """
    value = np.where(possible, own, 0.0)
    has_many = np.logical_and.outer(local.child_counts > 1, target.child_counts > 1)
    while True:
        around = _around(value, local, target)
        new = (1 - STRUCTURE_WEIGHT) * own + STRUCTURE_WEIGHT * around
        new = np.maximum(new, np.where(has_many, STRUCTURE_ALONE * around, 0.0))
        new = np.where(possible, new, 0.0)
        # A contraction: changes shrink by the larger of the two weights each time.
        if float(np.abs(new - value).max()) <= CHANGE_MIN:
            return new, around
        value = new


def _around(value: Matrix, local: Side, target: Side) -> Matrix:
    above = _above(value, local, target)
    below = _below(value, local, target)
    # Two leaves have no children: only their parents count.
    has_below = np.logical_or.outer(local.child_counts > 0, target.child_counts > 0)
    return np.where(has_below, (above + below) / 2, above)


def _above(value: Matrix, local: Side, target: Side) -> Matrix:
    """The similarity of the parents of a pair, or of a parent and a grandparent."""
    near, far = local.parents, _grandparents(local)
    other_near, other_far = target.parents, _grandparents(target)
    best = _pairs(value, near, other_near)
    weights, other_weights = _weights(local)[near], _weights(target)[other_near]
    best = np.maximum(best, other_weights[np.newaxis, :] * _pairs(value, near, other_far))
    best = np.maximum(best, weights[:, np.newaxis] * _pairs(value, far, other_near))
    best[0, :] = np.maximum(best[0, :], ROOT_BELOW)
    best[:, 0] = np.maximum(best[:, 0], ROOT_BELOW)
    best[0, 0] = 1.0
    return best


def _weights(side: Side) -> Matrix:
    """The weight of what is propagated across each place."""
    is_many = np.array([each.many for each in side.occurs])
    return np.where(is_many, REPEATED_LEVEL_BETWEEN, LEVEL_BETWEEN)


def _grandparents(side: Side) -> Indexes:
    # The root's parent is -1, which indexes from the end; the result is masked.
    return np.where(side.parents < 0, side.parents, side.parents[side.parents])


def _pairs(value: Matrix, rows: Indexes, columns: Indexes) -> Matrix:
    """The values of these pairs; 0 if one of the two does not exist."""
    found: Matrix = value[np.ix_(rows, columns)]
    found[rows < 0, :] = 0.0
    found[:, columns < 0] = 0.0
    return found


def _below(value: Matrix, local: Side, target: Side) -> Matrix:
    """The similarity of the children: the mean of their best pairs, in both directions."""
    here = _mean_over_children(_best_below(value, target), local)
    here /= np.maximum(local.child_counts, 1)[:, np.newaxis]
    there = _mean_over_children(_best_below(value.T, local), target).T
    there /= np.maximum(target.child_counts, 1)[np.newaxis, :]
    return (here + there) / 2


def _best_below(value: Matrix, target: Side) -> Matrix:
    """For each row, the best value among the children and grandchildren of each column."""
    near = _best_child(value, target)
    return np.maximum(near, _best_child(_weights(target)[np.newaxis, :] * near, target))


def _best_child(value: Matrix, side: Side) -> Matrix:
    found = np.zeros_like(value)
    if len(side.inner):
        # Columns before the first child belong to no parent; the last group ends with the matrix.
        found[:, side.inner] = np.maximum.reduceat(value, side.first_children, axis=1)
    return found


def _mean_over_children(best: Matrix, side: Side) -> Matrix:
    found = np.zeros_like(best)
    if len(side.inner):
        found[side.inner, :] = np.add.reduceat(best, side.first_children, axis=0)
    return found
