"""Means over seeds, with confidence intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
"""The 97.5% quantiles of Student's t with 1, 2, ... degrees of freedom."""

NORMAL: Final = 1.96
"""The same for more degrees of freedom, slightly too small."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over seeds, and half the width of its 95% confidence interval."""

    mean: float
    half_width: float


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and confidence interval by Student's t; of one value it is unknown.

    >>> found = estimate([1.0, 2.0, 3.0])
    >>> found.mean, round(found.half_width, 2)
    (2.0, 2.48)
    """
    mean = statistics.fmean(values)
    if len(values) < 2:
        return Estimate(mean, math.inf)
    degrees = len(values) - 1
    quantile = STUDENT[degrees - 1] if degrees <= len(STUDENT) else NORMAL
    return Estimate(mean, quantile * statistics.stdev(values) / math.sqrt(len(values)))
