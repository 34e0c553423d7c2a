"""The tables that a pipeline fills, by name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from penstock.workspace import table_schemas
from penstock.workspace.delta import create_table

BACKFILL: Final = "backfill-"
"""How the names of streams begin that deliver documents of the past."""


@dataclass(frozen=True, slots=True)
class Tables:
    """Delta tables in one folder."""

    root: str
    """The folder's path or URI."""

    @property
    def documents(self) -> str:
        """Documents as published, of :data:`~penstock.workspace.table_schemas.LOG`."""
        return f"{self.root}/documents"

    @property
    def deliveries(self) -> str:
        """Deliveries in buckets, of :data:`~penstock.workspace.table_schemas.DELIVERIES`."""
        return f"{self.root}/deliveries"

    @property
    def dead_letters(self) -> str:
        """Refused documents, of :data:`~penstock.workspace.table_schemas.DEAD_LETTERS`."""
        return f"{self.root}/dead_letters"

    @property
    def counts(self) -> str:
        """What became of each batch, of :data:`~penstock.workspace.table_schemas.COUNTS`."""
        return f"{self.root}/counts"

    def create(self) -> None:
        """Make those that are not there yet, and add columns that older ones lack."""
        create_table(self.documents, table_schemas.LOG)
        create_table(self.deliveries, table_schemas.DELIVERIES, partition_by=["bucket"])
        create_table(self.dead_letters, table_schemas.DEAD_LETTERS)
        create_table(self.counts, table_schemas.COUNTS)
