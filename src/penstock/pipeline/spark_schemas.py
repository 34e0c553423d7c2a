"""Spark schemas of the tables, derived from their Arrow schemas."""

from __future__ import annotations

from typing import Final

from pyspark.sql.pandas.types import from_arrow_schema

from penstock.workspace import table_schemas

DOCUMENTS: Final = from_arrow_schema(table_schemas.DOCUMENTS)
SUBSCRIPTIONS: Final = from_arrow_schema(table_schemas.SUBSCRIPTIONS)
MATCHES: Final = from_arrow_schema(table_schemas.MATCHES)
DELIVERIES: Final = from_arrow_schema(table_schemas.DELIVERIES)
DEAD_LETTERS: Final = from_arrow_schema(table_schemas.DEAD_LETTERS)
