"""Everything Penstock stores on disk: subscriptions, inbox, index versions and Delta tables.

Reading and changing a workspace needs neither a server nor Spark; the pipeline and the commands
share it. Public names are imported on first use: a reader of a mailbox needs neither matching nor
mediation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.lazy_imports import lazy_names

if TYPE_CHECKING:
    from penstock.workspace.inbox import Published as Published
    from penstock.workspace.inbox import Receipt as Receipt
    from penstock.workspace.index_versions import OpenVersion as OpenVersion
    from penstock.workspace.index_versions import change_version as change_version
    from penstock.workspace.index_versions import open_version as open_version
    from penstock.workspace.index_versions import write_shards as write_shards
    from penstock.workspace.index_versions import write_version as write_version
    from penstock.workspace.mailbox import Cursor as Cursor
    from penstock.workspace.mailbox import Delivery as Delivery
    from penstock.workspace.mailbox import Mailbox as Mailbox
    from penstock.workspace.maintenance import maintain as maintain
    from penstock.workspace.mapping_versions import open_mappings as open_mappings
    from penstock.workspace.mapping_versions import write_mappings as write_mappings
    from penstock.workspace.retention_policy import RetentionPolicy as RetentionPolicy
    from penstock.workspace.stored_subscription import StoredSubscription as StoredSubscription
    from penstock.workspace.subscriber_buckets import BUCKETS as BUCKETS
    from penstock.workspace.subscriber_buckets import bucket_of as bucket_of
    from penstock.workspace.subscriber_buckets import buckets_of as buckets_of
    from penstock.workspace.subscription_store import SubscriptionStore as SubscriptionStore
    from penstock.workspace.sync_store import SqliteSyncStore as SqliteSyncStore
    from penstock.workspace.sync_store import SyncStore as SyncStore
    from penstock.workspace.workspace import Workspace as Workspace

_MODULES = {
    "BUCKETS": ".subscriber_buckets",
    "Cursor": ".mailbox",
    "Delivery": ".mailbox",
    "Mailbox": ".mailbox",
    "OpenVersion": ".index_versions",
    "Published": ".inbox",
    "Receipt": ".inbox",
    "RetentionPolicy": ".retention_policy",
    "SqliteSyncStore": ".sync_store",
    "StoredSubscription": ".stored_subscription",
    "SubscriptionStore": ".subscription_store",
    "SyncStore": ".sync_store",
    "Workspace": ".workspace",
    "bucket_of": ".subscriber_buckets",
    "buckets_of": ".subscriber_buckets",
    "change_version": ".index_versions",
    "maintain": ".maintenance",
    "open_mappings": ".mapping_versions",
    "open_version": ".index_versions",
    "write_mappings": ".mapping_versions",
    "write_shards": ".index_versions",
    "write_version": ".index_versions",
}
"""The module of each public name."""

__all__ = [
    "BUCKETS",
    "Cursor",
    "Delivery",
    "Mailbox",
    "OpenVersion",
    "Published",
    "Receipt",
    "RetentionPolicy",
    "SqliteSyncStore",
    "StoredSubscription",
    "SubscriptionStore",
    "SyncStore",
    "Workspace",
    "bucket_of",
    "buckets_of",
    "change_version",
    "maintain",
    "open_mappings",
    "open_version",
    "write_mappings",
    "write_shards",
    "write_version",
]

__getattr__, __dir__ = lazy_names(__name__, _MODULES)
