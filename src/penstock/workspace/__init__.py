"""What stands on disk: subscribers and subscriptions, the inbox, index versions, the tables.

No server and no Spark is needed to read or change any of it: the pipeline and the commands
share it.
"""

from penstock.workspace.buckets import BUCKETS, bucket_of, buckets_of
from penstock.workspace.versions import (
    OpenVersion,
    change_version,
    open_version,
    write_shards,
    write_version,
)

__all__ = [
    "BUCKETS",
    "OpenVersion",
    "bucket_of",
    "buckets_of",
    "change_version",
    "open_version",
    "write_shards",
    "write_version",
]
