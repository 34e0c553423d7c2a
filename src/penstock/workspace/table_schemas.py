"""The columns of every table, in one place.

Times are UTC to the microsecond. A *sequence* is the place of a document in the order of
publishing. Spark's form of the same schemas is derived in :mod:`penstock.pipeline.spark_schemas`.

Tables outlive versions of Penstock: a column that is added later may be null, and
:meth:`~penstock.workspace.pipeline_tables.Tables.create` adds it to tables made
without it.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

TIME: Final = pa.timestamp("us", tz="UTC")

_TEXT_BY_NAME: Final = pa.map_(pa.string(), pa.string())


def _required(name: str, of_type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, of_type, nullable=False)


_HEADER: Final = [
    _required("document", pa.string()),
    _required("publisher", pa.string()),
    _required("schema", pa.string()),
    _required("fields", _TEXT_BY_NAME),
    _required("sequence", pa.int64()),
    _required("published_at", TIME),
]
"""What is known of a document beside its bytes; ``document`` is its identity."""

DOCUMENTS: Final = pa.schema([*_HEADER, _required("content", pa.binary())])
"""Documents as published: the inbox, and what the pipeline reads."""

UNKNOWN: Final = pa.field("unknown_elements", pa.int64())
"""How many elements documents have that the schemas of their mappings do not have. Null in what was
written before there was this column."""

LOG: Final = pa.schema([*DOCUMENTS, _required("batch", pa.int64()), UNKNOWN])
"""The documents table: those that were matched, whether or not anyone wanted them, with the batch
that took them."""

SUBSCRIPTIONS: Final = pa.schema(
    [
        _required("subscription", pa.string()),
        _required("subscriber", pa.string()),
        _required("kind", pa.string()),
        _required("query", pa.string()),
        _required("namespaces", _TEXT_BY_NAME),
        pa.field("default_namespace", pa.string()),
        _required("returns", pa.string()),
        pa.field("starts_at", TIME),
        pa.field("expires_at", TIME),
    ]
)
"""The subscriptions of an index version. The index knows each by its row number here, so that a
match leads to its subscriber without a join. ``kind`` is ``xpath`` or ``keywords``, ``returns`` is
``document`` or ``fragments``."""

SPAN: Final = pa.struct([_required("start", pa.int64()), _required("end", pa.int64())])
"""A range of a document's original bytes."""

FRAGMENTS: Final = pa.list_(
    pa.field(
        "element",
        pa.struct(
            [
                _required("kind", pa.string()),
                _required("spans", pa.list_(pa.field("element", SPAN, nullable=False))),
                _required("xml", pa.string()),
            ]
        ),
        nullable=False,
    )
)
"""What a query selected: ranges of the original bytes, and a piece of XML that stands alone."""

MORE: Final = "more"
"""The kind of a last fragment that is none: its XML, a comment, says how many are left out."""

MATCHES: Final = pa.schema(
    [
        _required("document", pa.string()),
        _required("subscription", pa.string()),
        pa.field("fragments", FRAGMENTS),
    ]
)
"""Document meets query; ``fragments`` is null where they were not asked for."""

DELIVERIES: Final = pa.schema(
    [
        _required("delivery", pa.string()),
        _required("subscriber", pa.string()),
        _required("subscription", pa.string()),
        _required("document", pa.string()),
        _required("publisher", pa.string()),
        _required("sequence", pa.int64()),
        _required("published_at", TIME),
        _required("delivered_at", TIME),
        _required("batch", pa.int64()),
        pa.field("fragments", FRAGMENTS),
        _required("bucket", pa.int32()),
    ]
)
"""Matches handed to subscribers. ``delivery`` is a hash of document and subscription; the
deliveries of a subscriber are all in one ``bucket``. The bytes of the document stand
once, in the documents table."""

DEAD_LETTERS: Final = pa.schema(
    [
        *DOCUMENTS,
        _required("code", pa.string()),
        _required("message", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("line", pa.int64()),
        pa.field("column", pa.int64()),
        _required("hint", pa.string()),
        _required("batch", pa.int64()),
        _required("refused_at", TIME),
    ]
)
"""Documents that were refused, whole, with the reason and its place."""

COUNTS: Final = pa.schema(
    [
        _required("stream", pa.string()),
        _required("batch", pa.int64()),
        _required("versions", pa.list_(pa.string())),
        _required("documents", pa.int64()),
        _required("matched", pa.int64()),
        _required("unmatched", pa.int64()),
        _required("dead", pa.int64()),
        _required("deliveries", pa.int64()),
        _required("bytes", pa.int64()),
        pa.field("last_sequence", pa.int64()),
        _required("finished_at", TIME),
        UNKNOWN,
    ]
)
"""What became of each batch: ``documents = matched + unmatched + dead``."""
