"""Similarity of places by their sample values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final, TypeVar

import numpy as np

from penstock.mediation.schema_matching.name_similarity import Matrix
from penstock.mediation.schema_matching.tree_arrays import Side
from penstock.schema import SampleValues, ValueSketch

T = TypeVar("T")

SHAPE_MAX: Final = 0.7
"""Similarity of values with equal format and no overlap: publishers rarely share values."""

KINDS_WEIGHT: Final = 0.3
PATTERNS_WEIGHT: Final = 0.5
"""Weights of value kinds and patterns in format similarity; the rest is their length."""

WORDS_WEIGHT: Final = 0.9
"""Weight of shared words relative to shared values."""


def value_similarities(
    local: Side, target: Side, here: SampleValues, there: SampleValues
) -> Matrix:
    """The value similarity of each pair of places; NaN if one side has no values."""
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
    """The similarity of the values of two places, from 0 to 1.

    Equal formats are evidence for a pair, shared values much more; the absence of shared values is
    no evidence against it.
    """
    shape = SHAPE_MAX * (
        KINDS_WEIGHT * _overlap(one.kinds, other.kinds)
        + PATTERNS_WEIGHT * _overlap(one.shapes, other.shapes)
        + (1 - KINDS_WEIGHT - PATTERNS_WEIGHT) * _length(one, other)
    )
    shared = max(one.overlap(other), WORDS_WEIGHT * _overlap(one.words, other.words))
    return shape + (1 - shape) * shared


def _overlap(one: Mapping[T, int], other: Mapping[T, int]) -> float:
    """The overlap of two distributions."""
    totals = sum(one.values()), sum(other.values())
    return sum(
        min(number / totals[0], other[each] / totals[1])
        for each, number in one.items()
        if each in other
    )


def _length(one: ValueSketch, other: ValueSketch) -> float:
    """1 for equal average lengths, 0 for a factor of ten."""
    means = max(one.length, 1) / one.count, max(other.length, 1) / other.count
    return max(0.0, 1 - abs(math.log10(means[0] / means[1])))
