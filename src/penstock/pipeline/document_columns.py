"""Checks the columns of a DataFrame of documents on the driver, before a job starts."""

from __future__ import annotations

from collections.abc import Collection

from pyspark.sql.types import StructField, StructType

from penstock.errors import error
from penstock.pipeline import spark_schemas


def own_columns(schema: StructType, reserved: Collection[str] = ()) -> list[StructField]:
    """The columns of a DataFrame of documents that are the caller's own.

    Parameters
    ----------
    schema
        The DataFrame's schema.
    reserved
        Names that the caller's columns must not have.

    Raises
    ------
    PipelineError
        ``pipeline.columns``: a column of :data:`penstock.pipeline.spark_schemas.DOCUMENTS` is
        missing or has another type, or a column has a reserved name.
    """
    for required in spark_schemas.DOCUMENTS:
        if required.name not in schema.names:
            raise error(
                "pipeline.columns",
                f"the documents have no column `{required.name}`; they have"
                f" {', '.join(f'`{name}`' for name in schema.names)}",
            )
        found, expected = schema[required.name].dataType, required.dataType
        if found.simpleString() != expected.simpleString():
            raise error(
                "pipeline.columns",
                f"column `{required.name}` has type {found.simpleString()} instead of"
                f" {expected.simpleString()}",
            )
    own = [field for field in schema if field.name not in spark_schemas.DOCUMENTS.names]
    for field in own:
        if field.name in reserved:
            raise error("pipeline.columns", f"`{field.name}` is the name of a column of the result")
    return own
