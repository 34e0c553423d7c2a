"""Subscriptions, an index of them, and the matching of documents against it."""

from penstock.matching.batch import BatchMatches
from penstock.matching.index import SubscriptionIndex
from penstock.matching.matcher import Matcher
from penstock.matching.results import (
    Counters,
    Explanation,
    Failure,
    IndexStats,
    Matches,
    StepTaken,
    Witness,
    Work,
)

__all__ = [
    "BatchMatches",
    "Counters",
    "Explanation",
    "Failure",
    "IndexStats",
    "Matcher",
    "Matches",
    "StepTaken",
    "SubscriptionIndex",
    "Witness",
    "Work",
]
