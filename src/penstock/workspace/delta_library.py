"""The library of the table format, which only the extra ``spark`` installs.

A synchronisation server keeps its documents like a workspace, but needs no tables.
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
