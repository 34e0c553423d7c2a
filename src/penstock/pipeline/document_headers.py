"""Builds the columns of the documents table from the columns of a source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeAlias, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from penstock.pipeline.sequence_numbers import ORDER_KEY_MIN, POSITIONS_PER_MICROSECOND
from penstock.pipeline.spark_schemas import DOCUMENTS

_MICROSECONDS_MAX = ((1 << 63) - 1) // POSITIONS_PER_MICROSECOND - (1 << 40)
"""Leaves room for the positions in a file of any length."""

Value: TypeAlias = str | Column
"""A constant for all documents, or an expression over the columns of the source."""


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
    stored with an error. ``sequence`` is an order key, which is negative; delivery replaces it by a
    unique number: see :mod:`penstock.pipeline.sequence_numbers`.

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
    time = f.coalesce(published_at.cast("timestamp"), current_time(source))
    columns = {
        "document": identity(publisher_column, content_column, id),
        "publisher": publisher_column,
        "schema": f.coalesce(_column(schema), f.lit("")),
        "fields": _map({**(source_fields or {}), **_by_name(fields or {})}),
        "sequence": _order_key(time, f.lit(0) if position is None else position),
        "published_at": time,
        "content": content_column,
    }
    return source.select(*(columns[name].alias(name) for name in DOCUMENTS.names))


def current_time(source: DataFrame) -> Column:
    """The current time: of the micro-batch, or of this call if the source is not a stream.

    Several jobs may read the documents of a batch. ``current_timestamp`` would differ between them.
    """
    return f.current_timestamp() if source.isStreaming else f.lit(datetime.now(UTC))


def _order_key(time: Column, position: Column) -> Column:
    # The bounds keep times that nobody means, such as the year 9999, from failing the batch.
    microseconds = f.least(f.greatest(f.unix_micros(time), f.lit(0)), f.lit(_MICROSECONDS_MAX))
    last = f.lit((1 << 63) - 1 - _MICROSECONDS_MAX * POSITIONS_PER_MICROSECOND)
    offset = microseconds * POSITIONS_PER_MICROSECOND + f.least(position.cast("bigint"), last)
    return f.lit(ORDER_KEY_MIN) + offset


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
