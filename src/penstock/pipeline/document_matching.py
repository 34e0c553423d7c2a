"""Matches a DataFrame of documents against the subscriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from penstock.documents import Limits
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.matching.batch import ERROR_TYPE
from penstock.pipeline.document_columns import own_columns
from penstock.pipeline.partition_matcher import MatchedSlice, PartitionMatcher
from penstock.pipeline.run_config import Mode, RunConfig
from penstock.pipeline.sent_index import SentIndex
from penstock.pipeline.shards import ROW, SHARD, check_versions, open_on_driver, with_shards
from penstock.workspace.table_schemas import DOCUMENTS, MATCHES, UNKNOWN_ELEMENTS

_MATCH: Final = pa.struct(
    [MATCHES.field(name) for name in ("subscription", "subscriber", "fragments")]
)

OUTCOMES: Final = pa.schema(
    [
        *DOCUMENTS.remove(DOCUMENTS.get_field_index("content")),
        pa.field("matches", pa.list_(pa.field("element", _MATCH, nullable=False)), nullable=False),
        pa.field("error", ERROR_TYPE),
        UNKNOWN_ELEMENTS,
        pa.field("set_aside", pa.list_(pa.string())),
    ]
)
"""One row per document: its header, its matches, its error if it was refused, the number of
elements that its mapping's schema does not define, and the subscriptions that were set aside."""

_HEADER: Final = [name for name in DOCUMENTS.names if name != "content"]

_RESERVED: Final = frozenset({"matches", "error", UNKNOWN_ELEMENTS.name, "set_aside", ROW, SHARD})
"""Names of columns that the caller's own columns must not have."""


def match_documents(
    documents: DataFrame,
    subscriptions: str | Sequence[str] | SubscriptionIndex | KeywordIndex,
    *,
    fragments: bool = False,
    keep_content: bool = False,
    mappings: str | None = None,
    mode: Mode = "PERMISSIVE",
    at: datetime | None = None,
    limits: Limits | None = None,
) -> DataFrame:
    """Match documents against all subscriptions.

    Parameters
    ----------
    documents
        A DataFrame with the columns of :data:`penstock.pipeline.spark_schemas.DOCUMENTS`, such as
        the readers of :mod:`penstock.pipeline.readers` return. It may have other columns, which are
        part of the result with their types.
    subscriptions
        The URI of an index version, or the URIs of its shards: every document is matched against
        every shard, and the result is the same. Or an index, which is sent to the workers; its
        matches have no subscriber, which is then the empty string.
    fragments
        Whether to return the fragments that each query selects.
    keep_content
        Whether to return the documents' bytes in a column ``content``. They are then transferred
        from Python to Spark, which a join with ``documents`` would avoid.
    mappings
        The URI of mappings from :func:`~penstock.workspace.write_mappings`: each document is
        matched with the mapping that its header carries, or that is registered for its schema. By
        default no mappings are applied.
    mode
        ``PERMISSIVE`` returns a refused document with its error and no matches, ``DROPMALFORMED``
        drops it, ``FAILFAST`` fails the job.
    at
        Decides which subscriptions have started and not expired; by default all are matched.
    limits
        The limits of documents.

    Returns
    -------
    One row per document, in no particular order, with its header and the caller's own columns,
    ``matches`` (subscription, subscriber and fragments), ``error`` (code, message, offset, line,
    column, hint, path, report), ``unknown_elements``: the number of elements that its mapping's
    schema does not define, and ``set_aside``: the subscriptions that are unknown because the
    document's work budget was spent, null for none.

    Raises
    ------
    PipelineError
        Before a job starts: ``pipeline.columns``, ``pipeline.mode``, ``pipeline.versions`` or
        ``pipeline.index-size``.
    IndexFileError
        Before a job starts: ``index.missing``, ``index.damaged``, ``index.not-an-index`` or
        ``index.too-new``. On Spark Connect the files of plain paths are the server's, so they are
        first opened by the job.

    Examples
    --------
    >>> import tempfile
    >>> from penstock.pipeline import read_column
    >>> from penstock.workspace import StoredSubscription, Workspace
    >>> wanted = StoredSubscription(id="cheap", subscriber="anna", query="//price[. < 10]")
    >>> with Workspace.create(tempfile.mkdtemp()) as workspace:
    ...     added = workspace.subscriptions.add(wanted)
    ...     version = workspace.current_version()
    >>> table = spark.createDataFrame([("<price>7</price>",), ("<price>",)], "xml string")
    >>> outcomes = match_documents(read_column(spark, table, "xml", publisher="me"), version)
    >>> outcomes.where("error is not null").first().error.code
    'xml.unclosed'
    >>> match = matches_of(outcomes).first()
    >>> match.subscription, match.subscriber
    ('cheap', 'anna')
    """
    own = own_columns(documents.schema, _RESERVED)
    config = RunConfig(mode=mode, limits=limits)
    shards: Sequence[str | SentIndex]
    if isinstance(subscriptions, SubscriptionIndex | KeywordIndex):
        shards = [SentIndex.of(subscriptions)]
    else:
        shards = uris = check_versions(subscriptions)
        open_on_driver(documents.sparkSession, uris)
    matcher = PartitionMatcher(
        shards=shards,
        mappings=mappings,
        at=at,
        config=config,
        fragments="all" if fragments else "none",
    )

    own_names = [*(["content"] if keep_content else []), *(field.name for field in own)]

    def match(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for matched in matcher.match(batches):
            yield _outcome_rows(matched, own_names, mode=mode)

    content = [StructField("content", BinaryType(), nullable=False)] if keep_content else []
    schema = StructType([*from_arrow_schema(OUTCOMES), *content, *own])
    if len(shards) == 1:
        return documents.mapInArrow(match, schema)
    shard_schema = StructType([StructField(ROW, LongType()), *schema])
    return _merge_shards(
        with_shards(documents, len(shards)).mapInArrow(match, shard_schema), schema, own_names
    )


def matches_of(outcomes: DataFrame) -> DataFrame:
    """One row per match, with the columns of :data:`penstock.pipeline.spark_schemas.MATCHES`.

    Other columns of the result of :func:`match_documents` can be joined by ``document``.
    """
    each = outcomes.select("document", f.explode("matches").alias("match"))
    return each.select("document", *(f"match.{field.name}" for field in _MATCH))


def outcome_arrays(matched: MatchedSlice) -> list[pa.Array[Any]]:
    """The columns ``matches``, ``error``, ``unknown_elements`` and ``set_aside``."""
    matcher, outcomes = matched.matcher, matched.outcomes
    matches = pa.StructArray.from_arrays(
        [
            *matcher.subscription_columns(outcomes, ["subscription", "subscriber"]),
            matched.fragments,
        ],
        fields=list(_MATCH),
    )
    offsets = np.concatenate([[0], np.cumsum(outcomes.match_counts)])
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), matches)
    return [
        lists.cast(OUTCOMES.field("matches").type),
        outcomes.errors,
        pa.array(outcomes.unknown_elements),
        matcher.set_aside_column(outcomes),
    ]


def _outcome_rows(matched: MatchedSlice, own: Sequence[str], *, mode: Mode) -> pa.RecordBatch:
    documents = matched.documents
    header = [ROW, *_HEADER] if ROW in documents.schema.names else _HEADER
    rows = pa.RecordBatch.from_arrays(
        [
            *(documents.column(name) for name in header),
            *outcome_arrays(matched),
            *(documents.column(name) for name in own),
        ],
        names=[*header, "matches", "error", UNKNOWN_ELEMENTS.name, "set_aside", *own],
    )
    return rows.filter(matched.outcomes.errors.is_null()) if mode == "DROPMALFORMED" else rows


def _merge_shards(matched: DataFrame, schema: StructType, own: Sequence[str]) -> DataFrame:
    """One row per document: the matches of all shards. The other columns are equal in all rows."""
    merged = matched.groupBy(ROW).agg(
        *(f.first(name).alias(name) for name in _HEADER),
        f.flatten(f.collect_list("matches")).alias("matches"),
        *(f.first(name).alias(name) for name in ("error", UNKNOWN_ELEMENTS.name, *own)),
        f.flatten(f.collect_list("set_aside")).alias("set_aside"),
    )
    return merged.select(schema.names)
