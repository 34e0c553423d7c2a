"""Arrow schemas of all tables.

Timestamps are UTC in microseconds. A *sequence* is a document's number: its position in publishing
order if it was published to an inbox, otherwise a number that the pipeline assigns.
:mod:`penstock.pipeline.spark_schemas` derives the Spark schemas from these.

Tables outlive versions of Penstock: a column added later is nullable, and
:meth:`~penstock.workspace.pipeline_tables.Tables.create` adds it to existing tables.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa

TIME: Final = pa.timestamp("us", tz="UTC")

_STRING_MAP: Final = pa.map_(pa.string(), pa.string())


def _required(name: str, of_type: pa.DataType) -> pa.Field[Any]:
    return pa.field(name, of_type, nullable=False)


_HEADER: Final = [
    _required("document", pa.string()),
    _required("publisher", pa.string()),
    _required("schema", pa.string()),
    _required("fields", _STRING_MAP),
    _required("sequence", pa.int64()),
    _required("published_at", TIME),
]
"""A document's header; ``document`` is its identity."""

DOCUMENTS: Final = pa.schema([*_HEADER, _required("content", pa.binary())])
"""Published documents: the inbox, and the input of the pipeline."""

UNKNOWN_ELEMENTS: Final = pa.field("unknown_elements", pa.int64())
"""Number of a document's elements that the schema of its mapping does not define. Null in rows that
are older than the column."""

SET_ASIDE: Final = pa.field("set_aside", pa.int64())
"""Number of pairs of a document and a subscription that was set aside for it, because the work
budget of the document was spent. Null in rows that are older than the column."""

FRAGMENTS_OMITTED: Final = pa.field("fragments_omitted", pa.int64())
"""Number of fragments that were omitted from deliveries because of a limit. Null in rows that are
older than the column."""

SET_ASIDE_BY_SUBSCRIPTION: Final = pa.field(
    "set_aside_by_subscription", pa.map_(pa.string(), pa.int64())
)
"""The documents for which each subscription was set aside. Null in rows that are older than the
column."""

DOCUMENT_LOG: Final = pa.schema([*DOCUMENTS, _required("batch", pa.int64()), UNKNOWN_ELEMENTS])
"""The documents table: all accepted documents, matched or not, with the batch that processed
them."""

SUBSCRIPTIONS: Final = pa.schema(
    [
        _required("subscription", pa.string()),
        _required("subscriber", pa.string()),
        _required("kind", pa.string()),
        _required("query", pa.string()),
        _required("namespaces", _STRING_MAP),
        pa.field("default_namespace", pa.string()),
        _required("returns", pa.string()),
        pa.field("starts_at", TIME),
        pa.field("expires_at", TIME),
        pa.field("where", _STRING_MAP),
        pa.field("fragments_max", pa.int32()),
    ]
)
"""The subscriptions of an index version. The index identifies each by its row number here, so a
match leads to its subscriber without a join. ``kind`` is ``xpath`` or ``keywords``; ``returns`` is
``document`` or ``fragments``; ``where`` has the header fields that it requires, if any;
``fragments_max`` is its own limit on the fragments in a delivery, if any."""

SPAN: Final = pa.struct([_required("start", pa.int64()), _required("end", pa.int64())])
"""A byte span of the original document."""

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
"""The result of a query: byte spans of the original document, and self-contained XML."""

MORE_FRAGMENTS: Final = "more"
"""The kind of a last fragment that stands for omitted ones: its XML is a comment with their
number."""

MATCHES: Final = pa.schema(
    [
        _required("document", pa.string()),
        _required("subscription", pa.string()),
        _required("subscriber", pa.string()),
        pa.field("fragments", FRAGMENTS),
    ]
)
"""Pairs of a document and a subscription it matches, with the subscriber; ``fragments`` is null if
not requested."""

CONTENT_DIGEST: Final = pa.field("content_digest", pa.binary())
"""The digest of a document's bytes: see :mod:`penstock.workspace.content_digest`. Null in rows that
are older than the column."""

POSITION: Final = pa.field("position", pa.int64())
"""The commit position of a delivery: see :mod:`penstock.workspace.commit_positions`. Null in rows
that are older than the column."""

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
        CONTENT_DIGEST,
        POSITION,
    ]
)
"""Matches delivered to subscribers. ``delivery`` is a hash of document and subscription; all
deliveries of a subscriber are in one ``bucket``. The document's bytes are only in the documents
table."""

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
        pa.field("path", pa.string()),
        pa.field("report", pa.string()),
    ]
)
"""Refused documents, with the error and its position. ``path`` are the open elements at the
position; ``report`` is a JSON object for the codes ``internal.*``. Both are null in rows that are
older than the columns."""

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
        UNKNOWN_ELEMENTS,
        SET_ASIDE,
        SET_ASIDE_BY_SUBSCRIPTION,
        FRAGMENTS_OMITTED,
    ]
)
"""The result of each batch: ``documents = matched + unmatched + dead``."""
