"""Routing: the router core, and aggregated sets of subscriptions for its neighbours."""

from penstock.routing.absent_names import AbsentNameFilter, encode_absent_names
from penstock.routing.aggregate_delta import AggregateDelta, AggregateReplica, digest_of
from penstock.routing.aggregated_set import AggregatedSet
from penstock.routing.annotation_kinds import (
    ALL_KINDS,
    NO_KINDS,
    AnnotationKind,
    AnnotationOptions,
)
from penstock.routing.announced_paths import AnnouncedPaths
from penstock.routing.bindings import BindingFilter
from penstock.routing.containment_order import ContainmentPair, containment_order
from penstock.routing.forward_queue import OverflowPolicy
from penstock.routing.last_offsets import AnnouncedUnder, PrefixStops, decode_last_offsets
from penstock.routing.limits import RouterLimits
from penstock.routing.local_subscription import LocalSubscription
from penstock.routing.merge_forest import MergeForest, PatternNode
from penstock.routing.merging import Merger
from penstock.routing.neighbour_transitions import NeighbourStatus
from penstock.routing.patterns import UNIVERSAL, Pattern
from penstock.routing.precision import Precision, measure_precision
from penstock.routing.router import Router
from penstock.routing.router_inputs import (
    AddNeighbour,
    AnnotationsChanged,
    ChangeTimes,
    LinkDown,
    LinkReset,
    LinkUp,
    MappingsChanged,
    MessageReceived,
    Publish,
    Refuse,
    RouterInput,
    Subscribe,
    Unsubscribe,
)
from penstock.routing.router_messages import (
    AnnotationReport,
    DigestConfirmation,
    DigestRequest,
    ForwardedDocument,
    RouterMessage,
    SubscriptionDelta,
    SubscriptionSnapshot,
)
from penstock.routing.router_outputs import (
    Deliveries,
    Delivery,
    DocumentRefused,
    ForwardDiscarded,
    MessageRefused,
    NeighbourDistrusted,
    RouterOutput,
    SelectedFragments,
    SendMessage,
    SubscriptionsSetAside,
)
from penstock.routing.router_state import NeighbourState, RouterCounters, RouterState
from penstock.routing.skeleton import SkeletonDecision, SkeletonFilter, encode_skeleton
from penstock.routing.state_changes import StateChanges
from penstock.routing.stored_interest import StoredInterest
from penstock.routing.synopsis import SampledDocuments, Synopsis
from penstock.routing.topology import TreeTopology
from penstock.routing.vocabulary import Vocabulary

__all__ = [
    "ALL_KINDS",
    "NO_KINDS",
    "UNIVERSAL",
    "AbsentNameFilter",
    "AddNeighbour",
    "AggregateDelta",
    "AggregateReplica",
    "AggregatedSet",
    "AnnotationKind",
    "AnnotationOptions",
    "AnnotationReport",
    "AnnotationsChanged",
    "AnnouncedPaths",
    "AnnouncedUnder",
    "BindingFilter",
    "ChangeTimes",
    "ContainmentPair",
    "Deliveries",
    "Delivery",
    "DigestConfirmation",
    "DigestRequest",
    "DocumentRefused",
    "ForwardDiscarded",
    "ForwardedDocument",
    "LinkDown",
    "LinkReset",
    "LinkUp",
    "LocalSubscription",
    "MappingsChanged",
    "MergeForest",
    "Merger",
    "MessageReceived",
    "MessageRefused",
    "NeighbourDistrusted",
    "NeighbourState",
    "NeighbourStatus",
    "OverflowPolicy",
    "Pattern",
    "PatternNode",
    "Precision",
    "PrefixStops",
    "Publish",
    "Refuse",
    "Router",
    "RouterCounters",
    "RouterInput",
    "RouterLimits",
    "RouterMessage",
    "RouterOutput",
    "RouterState",
    "SampledDocuments",
    "SelectedFragments",
    "SendMessage",
    "SkeletonDecision",
    "SkeletonFilter",
    "StateChanges",
    "StoredInterest",
    "Subscribe",
    "SubscriptionDelta",
    "SubscriptionSnapshot",
    "SubscriptionsSetAside",
    "Synopsis",
    "TreeTopology",
    "Unsubscribe",
    "Vocabulary",
    "containment_order",
    "decode_last_offsets",
    "digest_of",
    "encode_absent_names",
    "encode_skeleton",
    "measure_precision",
]
