"""Indexes of subscriptions, and matchers that match documents against them."""

from penstock.matching.answers import Answer, KeywordWitnesses
from penstock.matching.batch import BatchMatches
from penstock.matching.combined_matcher import both, combine_matchers
from penstock.matching.index import SubscriptionIndex
from penstock.matching.keyword_index import KeywordIndex
from penstock.matching.keyword_matcher import KeywordMatcher
from penstock.matching.matcher import Matcher
from penstock.matching.native_base import process_cache_bytes
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
    "Answer",
    "BatchMatches",
    "Counters",
    "Explanation",
    "Failure",
    "IndexStats",
    "KeywordIndex",
    "KeywordMatcher",
    "KeywordWitnesses",
    "Matcher",
    "Matches",
    "StepTaken",
    "SubscriptionIndex",
    "Witness",
    "Work",
    "both",
    "combine_matchers",
    "process_cache_bytes",
]
