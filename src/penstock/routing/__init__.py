"""Routing: aggregated sets of subscriptions for the neighbours of a router."""

from penstock.routing.aggregate_delta import AggregateDelta, AggregateReplica, digest_of
from penstock.routing.aggregated_set import AggregatedSet
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.synopsis import SampledDocuments, Synopsis

__all__ = [
    "UNIVERSAL",
    "AggregateDelta",
    "AggregateReplica",
    "AggregatedSet",
    "Pattern",
    "SampledDocuments",
    "Synopsis",
    "digest_of",
]
