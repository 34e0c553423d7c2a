"""Routing: aggregated sets of subscriptions for the neighbours of a router."""

from penstock.routing.aggregate_delta import AggregateDelta, AggregateReplica, digest_of
from penstock.routing.aggregated_set import AggregatedSet
from penstock.routing.containment_order import ContainmentPair, containment_order
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.merging import Merger
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.precision import Precision, measure_precision
from penstock.routing.synopsis import SampledDocuments, Synopsis

__all__ = [
    "UNIVERSAL",
    "AggregateDelta",
    "AggregateReplica",
    "AggregatedSet",
    "ContainmentPair",
    "MergeForest",
    "Merger",
    "Pattern",
    "PatternNode",
    "Precision",
    "SampledDocuments",
    "Synopsis",
    "containment_order",
    "digest_of",
    "measure_precision",
]
