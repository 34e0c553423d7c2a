"""From what a source knows of a document to the columns of the documents table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias, TypedDict

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from penstock.pipeline.spark_schemas import DOCUMENTS

Value: TypeAlias = str | Column
"""A text that is the same for every document, or an expression over the columns of the source."""

PLACES_PER_MICROSECOND: Final = 2048
"""A document's sequence number is its time in microseconds, times this, plus its place among those
that were published together. It leads through the year 2112."""


class HeaderOptions(TypedDict, total=False):
    """What every reader can be told of its documents' headers, beside who publishes them."""

    schema: Value
    """The name of the documents' schema; none by default."""

    id: Value | None
    """Their identity; where it is not given, null or empty, their bytes are their identity."""

    fields: Mapping[str, Value] | Iterable[str] | None
    """Further fields: texts and expressions by the field's name, or columns by their own."""


def documents_of(
    source: DataFrame,
    *,
    content: Column,
    published_at: Column,
    place: Column | None = None,
    own_fields: Mapping[str, Value] | None = None,
    publisher: Value,
    schema: Value = "",
    id: Value | None = None,  # noqa: A002 - what a header calls it
    fields: Mapping[str, Value] | Iterable[str] | None = None,
) -> DataFrame:
    """The documents of a source, in :data:`penstock.pipeline.spark_schemas.DOCUMENTS` columns.

    What is null is empty instead: an empty content is refused when it is matched, so that it is
    counted and kept with the reason.

    Parameters
    ----------
    source
        What the reader knows.
    content, published_at
        The documents' bytes, and when each was published.
    place
        How many were published before, at the same time.
    own_fields
        Fields that the reader gives to every header.
    publisher, schema, id, fields
        As the reader was told: see :class:`HeaderOptions`.
    """
    by = f.coalesce(_column(publisher), f.lit(""))
    whole = f.coalesce(content, f.lit(b""))
    time = f.coalesce(published_at.cast("timestamp"), f.current_timestamp())
    columns = {
        "document": identity(by, whole, id),
        "publisher": by,
        "schema": f.coalesce(_column(schema), f.lit("")),
        "fields": _map({**(own_fields or {}), **_by_name(fields or {})}),
        "sequence": f.unix_micros(time) * PLACES_PER_MICROSECOND
        + (f.lit(0) if place is None else place).cast("bigint"),
        "published_at": time,
        "content": whole,
    }
    return source.select(*(columns[name].alias(name) for name in DOCUMENTS.names))


def identity(publisher: Column, content: Column, id: Value | None = None) -> Column:  # noqa: A002
    """What :attr:`penstock.documents.Document.identity` is, in Spark's expressions."""
    # Java's encoding for forms differs from a URI's in three characters.
    quoted = f.url_encode(publisher)
    for written, wanted in (("+", "%20"), ("*", "%2A"), ("%7E", "~")):
        quoted = f.replace(quoted, f.lit(written), f.lit(wanted))
    digested = f.concat(f.encode(publisher, "utf-8"), f.lit(b"\xff"), content)
    digest = f.concat(f.lit("sha256:"), f.sha2(digested, 256))
    given = f.lit(None) if id is None else f.nullif(_column(id).cast("string"), f.lit(""))
    return f.concat(quoted, f.lit("/"), f.coalesce(given, digest))


def _by_name(fields: Mapping[str, Value] | Iterable[str]) -> Mapping[str, Value]:
    return fields if isinstance(fields, Mapping) else {name: f.col(name) for name in fields}


def _map(fields: Mapping[str, Value]) -> Column:
    """A map without those fields that are null."""
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
