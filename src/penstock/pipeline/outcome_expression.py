"""Matches documents by a column expression, without knowledge of the DataFrame that it is used in.

A function that adds rows or columns to a DataFrame needs its schema. An expression does not, so it
also works where a DataFrame must not be analyzed: in Spark Declarative Pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type

from penstock.documents import Limits
from penstock.errors import error
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.pipeline.document_matching import OUTCOMES, outcome_arrays
from penstock.pipeline.partition_matcher import PartitionMatcher
from penstock.pipeline.run_config import Mode, RunConfig
from penstock.pipeline.sent_index import SentIndex
from penstock.pipeline.shards import check_versions
from penstock.workspace.table_schemas import UNKNOWN_ELEMENTS

_USED: Final = ("document", "publisher", "schema", "fields", "content")
"""The columns that the expression refers to."""

OUTCOME: Final = pa.struct(
    [OUTCOMES.field(name) for name in ("matches", "error", UNKNOWN_ELEMENTS.name, "set_aside")]
)
"""The value of the expression: the columns that ``match_documents`` adds."""


def outcome_column(
    subscriptions: str | SubscriptionIndex | KeywordIndex,
    *,
    fragments: bool = False,
    mappings: str | None = None,
    mode: Mode = "PERMISSIVE",
    at: datetime | None = None,
    limits: Limits | None = None,
) -> Column:
    """The outcome of matching each document, as an expression.

    For Spark Declarative Pipelines, whose query functions must not analyze a DataFrame. Elsewhere
    :func:`~penstock.pipeline.match_documents` is simpler, checks the columns, and takes shards.

    Parameters
    ----------
    subscriptions
        The URI of an index version, or an index, which is sent to the workers.
    fragments, mappings, mode, at, limits
        As for :func:`~penstock.pipeline.match_documents`; but no row can be dropped, so the mode is
        not ``DROPMALFORMED``.

    Returns
    -------
    An expression over ``document``, ``publisher``, ``schema``, ``fields`` and ``content``, with the
    fields ``matches``, ``error``, ``unknown_elements`` and ``set_aside`` of the result of
    :func:`~penstock.pipeline.match_documents`.

    Raises
    ------
    PipelineError
        ``pipeline.versions``, ``pipeline.mode`` or ``pipeline.index-size``.

    Examples
    --------
    >>> from penstock.pipeline import read_column
    >>> index = SubscriptionIndex()
    >>> index.add("cheap", "//price[. < 10]")
    >>> table = spark.createDataFrame([("<price>7</price>",), ("<price>",)], "xml string")
    >>> documents = read_column(spark, table, "xml", publisher="me")
    >>> outcomes = documents.select(outcome_column(index).alias("outcome"))
    >>> rows = outcomes.select("outcome.*").collect()
    >>> sorted((len(row.matches), row.error and row.error.code) for row in rows)
    [(0, 'xml.unclosed'), (1, None)]
    """
    if mode == "DROPMALFORMED":
        raise error(
            "pipeline.mode", "an expression cannot drop rows; filter by the error it returns"
        )
    shard: str | SentIndex
    if isinstance(subscriptions, SubscriptionIndex | KeywordIndex):
        shard = SentIndex.of(subscriptions)
    else:
        shards = check_versions(subscriptions)
        if len(shards) != 1:
            raise error("pipeline.versions", "an expression takes one index version, not shards")
        (shard,) = shards
    matcher = PartitionMatcher(
        shards=[shard],
        mappings=mappings,
        at=at,
        config=RunConfig(mode=mode, limits=limits),
        fragments="all" if fragments else "none",
    )

    def match(batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:  # type: ignore[type-arg]
        for columns in batches:
            batch = pa.RecordBatch.from_arrays(list(columns), names=list(_USED))
            parts: list[pa.Array[Any]] = [pa.array([], OUTCOME)]
            for matched in matcher.match(iter([batch])):
                arrays = outcome_arrays(matched)
                parts.append(pa.StructArray.from_arrays(arrays, fields=list(OUTCOME)))
            yield pa.concat_arrays(parts)

    make: Any = arrow_udf  # its types allow for no structs
    column: Column = make(match, from_arrow_type(OUTCOME))(*_USED)
    return column
