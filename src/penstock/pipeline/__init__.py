"""The Spark pipeline: documents in, deliveries out. The only package that imports pyspark.

Public names are imported on first use: a worker that needs one module of this package should not
wait for all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.extras import require_spark_extra
from penstock.lazy_imports import lazy_names

if TYPE_CHECKING:
    from penstock.pipeline.delivery import BatchCounts as BatchCounts
    from penstock.pipeline.delivery import deliver as deliver
    from penstock.pipeline.delivery_stream import BatchDelivery as BatchDelivery
    from penstock.pipeline.delivery_stream import start_stream as start_stream
    from penstock.pipeline.document_matching import match_documents as match_documents
    from penstock.pipeline.document_matching import matches_of as matches_of
    from penstock.pipeline.history_replay import replay_histories as replay_histories
    from penstock.pipeline.inbox_stream import run_workspace as run_workspace
    from penstock.pipeline.outcome_expression import outcome_column as outcome_column
    from penstock.pipeline.progress import BatchProgress as BatchProgress
    from penstock.pipeline.progress import ProgressListener as ProgressListener
    from penstock.pipeline.readers import read_archives as read_archives
    from penstock.pipeline.readers import read_column as read_column
    from penstock.pipeline.readers import read_directory as read_directory
    from penstock.pipeline.readers import read_records as read_records
    from penstock.pipeline.routed_delivery import RoutedBatchDelivery as RoutedBatchDelivery
    from penstock.pipeline.routed_delivery import deliver_routed as deliver_routed
    from penstock.pipeline.routed_documents import route_documents as route_documents
    from penstock.pipeline.router_tree import write_router_tree as write_router_tree
    from penstock.pipeline.run_config import RunConfig as RunConfig
    from penstock.pipeline.schema_inference import infer_schema as infer_schema
    from penstock.pipeline.subscription_aggregation import (
        SubscriptionAggregate as SubscriptionAggregate,
    )
    from penstock.pipeline.subscription_aggregation import (
        aggregate_subscriptions as aggregate_subscriptions,
    )
    from penstock.pipeline.subscription_aggregation import (
        subscription_containment as subscription_containment,
    )
    from penstock.pipeline.subscription_aggregation import (
        subscription_patterns as subscription_patterns,
    )
    from penstock.pipeline.sync_stream import synchronise_documents as synchronise_documents

require_spark_extra("deltalake", "pandas", "pyspark")

_MODULES = {
    "BatchCounts": ".delivery",
    "BatchDelivery": ".delivery_stream",
    "BatchProgress": ".progress",
    "ProgressListener": ".progress",
    "RoutedBatchDelivery": ".routed_delivery",
    "RunConfig": ".run_config",
    "SubscriptionAggregate": ".subscription_aggregation",
    "aggregate_subscriptions": ".subscription_aggregation",
    "deliver": ".delivery",
    "deliver_routed": ".routed_delivery",
    "infer_schema": ".schema_inference",
    "match_documents": ".document_matching",
    "matches_of": ".document_matching",
    "outcome_column": ".outcome_expression",
    "read_archives": ".readers",
    "read_column": ".readers",
    "read_directory": ".readers",
    "read_records": ".readers",
    "replay_histories": ".history_replay",
    "route_documents": ".routed_documents",
    "run_workspace": ".inbox_stream",
    "start_stream": ".delivery_stream",
    "subscription_containment": ".subscription_aggregation",
    "subscription_patterns": ".subscription_aggregation",
    "synchronise_documents": ".sync_stream",
    "write_router_tree": ".router_tree",
}
"""The module of each public name."""

__all__ = [
    "BatchCounts",
    "BatchDelivery",
    "BatchProgress",
    "ProgressListener",
    "RoutedBatchDelivery",
    "RunConfig",
    "SubscriptionAggregate",
    "aggregate_subscriptions",
    "deliver",
    "deliver_routed",
    "infer_schema",
    "match_documents",
    "matches_of",
    "outcome_column",
    "read_archives",
    "read_column",
    "read_directory",
    "read_records",
    "replay_histories",
    "route_documents",
    "run_workspace",
    "start_stream",
    "subscription_containment",
    "subscription_patterns",
    "synchronise_documents",
    "write_router_tree",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
