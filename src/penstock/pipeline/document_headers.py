"""Builds the columns of the documents table from the columns of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from penstock.pipeline.spark_schemas import DOCUMENTS

Value: TypeAlias = str | Column
"""A constant for all documents, or an expression over the columns of the source."""

POSITIONS_PER_MICROSECOND: Final = 2048
"""A sequence number is the publishing time in microseconds, times this, plus the position among
documents published at the same time. It fits into 64 bits through the year 2112."""


class HeaderOptions(TypedDict, total=False):
    """Header values that every reader accepts, besides the publisher."""

    schema: Value
    """The name of the documents' schema; none by default."""

    id: Value | None
    """The documents' identity; if missing, null or empty, it is derived from their bytes."""

    fields: Mapping[str, Value] | Iterable[str] | None
    """Additional header fields: a mapping of names to values, or names of columns."""


def documents_from(
    source: DataFrame,
    *,
    content: Column,
    published_at: Column,
    position: Column | None = None,
    source_fields: Mapping[str, Value] | None = None,
    publisher: Value,
    schema: Value = "",
    id: Value | None = None,  # noqa: A002 - the header field's name
    fields: Mapping[str, Value] | Iterable[str] | None = None,
) -> DataFrame:
    """The documents of a source, in :data:`penstock.pipeline.spark_schemas.DOCUMENTS` columns.

    Nulls become empty values. Matching refuses empty content, so such documents are counted and
    stored with an error.

    Parameters
    ----------
    source
        The reader's rows.
    content, published_at
        The documents' bytes and publishing time.
    position
        The position among documents with the same publishing time.
    source_fields
        Header fields that the reader itself adds.
    publisher, schema, id, fields
        The reader's arguments: see :class:`HeaderOptions`.
    """
    publisher_column = f.coalesce(_column(publisher), f.lit(""))
    content_column = f.coalesce(content, f.lit(b""))
    time = f.coalesce(published_at.cast("timestamp"), f.current_timestamp())
    columns = {
        "document": identity(publisher_column, content_column, id),
        "publisher": publisher_column,
        "schema": f.coalesce(_column(schema), f.lit("")),
        "fields": _map({**(source_fields or {}), **_by_name(fields or {})}),
        "sequence": f.unix_micros(time) * POSITIONS_PER_MICROSECOND
        + (f.lit(0) if position is None else position).cast("bigint"),
        "published_at": time,
        "content": content_column,
    }
    return source.select(*(columns[name].alias(name) for name in DOCUMENTS.names))


def identity(publisher: Column, content: Column, id: Value | None = None) -> Column:  # noqa: A002
    """:attr:`penstock.documents.Document.identity` as a Spark expression."""
    # Java's form encoding differs from URI encoding in three characters.
    quoted = f.url_encode(publisher)
    for encoded, expected in (("+", "%20"), ("*", "%2A"), ("%7E", "~")):
        quoted = f.replace(quoted, f.lit(encoded), f.lit(expected))
    hashed = f.concat(f.encode(publisher, "utf-8"), f.lit(b"\xff"), content)
    digest = f.concat(f.lit("sha256:"), f.sha2(hashed, 256))
    given = f.lit(None) if id is None else f.nullif(_column(id).cast("string"), f.lit(""))
    return f.concat(quoted, f.lit("/"), f.coalesce(given, digest))


def _by_name(fields: Mapping[str, Value] | Iterable[str]) -> Mapping[str, Value]:
    return fields if isinstance(fields, Mapping) else {name: f.col(name) for name in fields}


def _map(fields: Mapping[str, Value]) -> Column:
    """A map of the fields that are not null."""
    if not fields:
        return f.create_map().cast("map<string,string>")
    pairs = [
        part
        for name, value in fields.items()
        for part in (f.lit(name), _column(value).cast("string"))
    ]
    return f.map_filter(f.create_map(*pairs), lambda _, value: value.isNotNull())


def _column(value: Value) -> Column:
    return f.lit(value) if isinstance(value, str) else value
