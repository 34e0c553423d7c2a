"""How alike places are in the values that samples have there."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.sides import Side
from penstock.schema import SampleValues, ValueKind, ValueSketch

SHAPE_MAX: Final = 0.8
"""What values are worth that look alike and share nothing: two publishers seldom share any."""

KINDS_WEIGHT: Final = 0.7
"""How much of looking alike is the kinds of values; the rest is their length."""


def value_similarities(
    local: Side, target: Side, here: SampleValues, there: SampleValues
) -> Matrix:
    """How alike values are; not a number where one side has none."""
    found = np.full((len(local), len(target)), np.nan)
    columns = [
        (number, there.places[place])
        for number, place in enumerate(target.places)
        if place in there.places
    ]
    for row, place in enumerate(local.places):
        sketch = here.places.get(place)
        if sketch is not None:
            for column, other in columns:
                found[row, column] = value_similarity(sketch, other)
    return found


def value_similarity(one: ValueSketch, other: ValueSketch) -> float:
    """How alike the values of two places are, from 0 to 1.

    Values that look alike speak for a pair, shared values much more. That none are shared says
    nothing.
    """
    shape = SHAPE_MAX * (
        KINDS_WEIGHT * _kinds(one, other) + (1 - KINDS_WEIGHT) * _length(one, other)
    )
    return shape + (1 - shape) * one.overlap(other)


def _kinds(one: ValueSketch, other: ValueSketch) -> float:
    """The part of values whose kind the other place has as often."""
    return sum(
        min(one.kinds.get(kind, 0) / one.count, other.kinds.get(kind, 0) / other.count)
        for kind in ValueKind
    )


def _length(one: ValueSketch, other: ValueSketch) -> float:
    """1 for values as long on average, 0 where those of one are ten times longer."""
    means = max(one.length, 1) / one.count, max(other.length, 1) / other.count
    return max(0.0, 1 - abs(math.log10(means[0] / means[1])))
