"""The four Delta tables that the pipeline writes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.workspace import table_schemas
from penstock.workspace.delta import create_table

BACKFILL_PREFIX: Final = "backfill-"
"""Prefix of the names of streams that deliver past documents."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Delta tables in one folder."""

    root: str
    """The folder's path or URI."""

    @property
    def documents(self) -> str:
        """Accepted documents, with :data:`~penstock.workspace.table_schemas.DOCUMENT_LOG`."""
        return f"{self.root}/documents"

    @property
    def deliveries(self) -> str:
        """Deliveries, partitioned by bucket: see :mod:`penstock.workspace.subscriber_buckets`.

        The schema is :data:`~penstock.workspace.table_schemas.DELIVERIES`.
        """
        return f"{self.root}/deliveries"

    @property
    def dead_letters(self) -> str:
        """Refused documents, with :data:`~penstock.workspace.table_schemas.DEAD_LETTERS`."""
        return f"{self.root}/dead_letters"

    @property
    def counts(self) -> str:
        """One row per batch, with :data:`~penstock.workspace.table_schemas.COUNTS`."""
        return f"{self.root}/counts"

    def create(self) -> None:
        """Create missing tables, and add missing columns to tables of older versions."""
        create_table(self.documents, table_schemas.DOCUMENT_LOG)
        create_table(self.deliveries, table_schemas.DELIVERIES, partition_by=["bucket"])
        create_table(self.dead_letters, table_schemas.DEAD_LETTERS)
        create_table(self.counts, table_schemas.COUNTS)
