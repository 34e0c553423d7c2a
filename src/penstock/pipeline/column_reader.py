"""Reads documents from a column of a DataFrame or table."""

from __future__ import annotations

from typing import Unpack

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType

from penstock.pipeline.document_headers import (
    HeaderOptions,
    Value,
    current_time,
    documents_from,
)

ENCODING_DECLARATION = r"""^(\s*<\?xml[^>]*?)\s+encoding\s*=\s*(?:"[^"]*"|'[^']*')"""
"""The encoding in an XML declaration, which no longer applies to decoded text."""


def read_column(
    spark: SparkSession,
    source: DataFrame | str,
    column: str,
    *,
    publisher: Value,
    stream: bool = False,
    published_at: Column | None = None,
    **header: Unpack[HeaderOptions],
) -> DataFrame:
    """Read documents from a string or binary column.

    Parameters
    ----------
    spark
        The session.
    source
        A DataFrame, or the name of a table.
    column
        The column that contains the documents. In a string column, the encoding in an XML
        declaration is removed: it described the bytes that the string was decoded from.
    publisher
        The publisher: a constant, or an expression over the columns, such as ``col("source")``.
    stream
        Whether to read a table as a stream. Has no effect on a DataFrame.
    published_at
        The publishing time. By default, or if null, the current time, which is the same for all
        documents of a micro-batch and for its replays; if the source is not a stream, the time of
        this call.
    **header
        Other header values: see :class:`~penstock.pipeline.document_headers.HeaderOptions`.

    Returns
    -------
    Documents. A null becomes an empty document, which matching refuses.

    Examples
    --------
    >>> from pyspark.sql.functions import col
    >>> table = spark.createDataFrame([("acme", 7, "<a/>")], "source string, n int, xml string")
    >>> documents = read_column(
    ...     spark, table, "xml", publisher=col("source"), id=col("n"), fields=["n"]
    ... )
    >>> row = documents.first()
    >>> row.document, row.fields, bytes(row.content)
    ('acme/7', {'n': '7'}, b'<a/>')
    """
    if isinstance(source, str):
        source = spark.readStream.table(source) if stream else spark.read.table(source)
    content = f.col(column)
    if isinstance(source.schema[column].dataType, StringType):
        content = f.encode(f.regexp_replace(content, ENCODING_DECLARATION, "$1"), "utf-8")
    return documents_from(
        source,
        content=content,
        published_at=current_time(source) if published_at is None else published_at,
        publisher=publisher,
        **header,
    )
