"""The names of delta-rs (``deltalake``) that workspaces use, or an error that names its extra.

A synchronisation server stores documents without Delta tables, so it does without the extra.
"""

from penstock.extras import require_spark_extra

require_spark_extra("deltalake")

from deltalake import (
    ColumnProperties,
    CommitProperties,
    DeltaTable,
    Schema,
    Transaction,
    WriterProperties,
)
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, RemoveAction

__all__ = [
    "AddAction",
    "ColumnProperties",
    "CommitFailedError",
    "CommitProperties",
    "DeltaError",
    "DeltaTable",
    "RemoveAction",
    "Schema",
    "Transaction",
    "WriterProperties",
]
