"""Everything Penstock stores on disk: subscriptions, inbox, index versions and Delta tables.

Reading and changing a workspace needs neither a server nor Spark; the pipeline and the commands
share it.
"""

from penstock.extras import require_spark_extra

require_spark_extra("deltalake")

from penstock.workspace.inbox import Published, Receipt
from penstock.workspace.index_versions import (
    OpenVersion,
    change_version,
    open_version,
    write_shards,
    write_version,
)
from penstock.workspace.mailbox import Cursor, Delivery, Mailbox
from penstock.workspace.maintenance import maintain
from penstock.workspace.mapping_versions import open_mappings, write_mappings
from penstock.workspace.retention_policy import RetentionPolicy
from penstock.workspace.stored_subscription import StoredSubscription
from penstock.workspace.subscriber_buckets import BUCKETS, bucket_of, buckets_of
from penstock.workspace.subscription_store import SubscriptionStore
from penstock.workspace.sync_store import SqliteSyncStore, SyncStore
from penstock.workspace.workspace import Workspace

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
