"""Infers a schema from documents on Spark: each task counts, and Spark sums by path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.documents import Limits, Name
from penstock.errors import DocumentError, SchemaError, error
from penstock.pipeline.limits import INFERRED_ROWS_MAX
from penstock.schema import NodePath, PathCounts, SampleReader, SampleSummary, SchemaTree

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "refused": pa.string(),
    "path": pa.string(),
    "attribute": pa.string(),
    "elements": pa.int64(),
    "parents": pa.int64(),
    "most": pa.int64(),
    "with_text": pa.int64(),
}

PARTIAL_COUNTS: Final = pa.schema(_COLUMNS)
"""One row for each path, each attribute at a path, and each error code. The latter two only have
``elements``: the number of elements with the attribute, and of refused documents."""


@dataclass(frozen=True, slots=True)
class Samples:
    """The summary of sample documents, and their number."""

    summary: SampleSummary
    documents: int
    """Number of documents that were read."""
    refused: Mapping[str, int]
    """Number of refused documents by error code."""

    def tree(self, root: Name | None = None) -> SchemaTree:
        """The schema that all documents conform to; a remark states how many were refused."""
        tree = self.summary.tree(root)
        if not self.refused:
            return tree
        number = sum(self.refused.values())
        reasons = ", ".join(f"{code} {count:,}" for code, count in sorted(self.refused.items()))
        remark = f"{number:,} of {self.documents + number:,} documents were refused: {reasons}"
        return replace(tree, remarks=(*tree.remarks, remark))


def infer_schema(
    documents: DataFrame, *, root: Name | None = None, limits: Limits | None = None
) -> SchemaTree:
    """Infer the schema of documents, as ``penstock schema infer`` does from files.

    Parameters
    ----------
    documents
        A DataFrame with a column ``content``, such as the readers of
        :mod:`penstock.pipeline.readers` return.
    root
        The root element, if documents have different ones.
    limits
        The limits of documents.

    Returns
    -------
    The tree with the narrowest cardinality (once, ``?``, ``*`` or ``+``) that fits all documents. A
    remark states how many documents were refused, by error code.

    Examples
    --------
    >>> from penstock.pipeline import read_column
    >>> from penstock.schema import print_tree
    >>> table = spark.createDataFrame([("<a><b/><b n='1'/></a>",), ("<a>",)], "xml string")
    >>> tree = infer_schema(read_column(spark, table, "xml", publisher="me"))
    >>> print(print_tree(tree), end="")
    penstock schema 1
    # 1 of 2 documents were refused: xml.unclosed 1
    <BLANKLINE>
    a
      b+
        @n?
    """
    return summarise(documents, limits=limits).tree(root)


def summarise(documents: DataFrame, *, limits: Limits | None = None) -> Samples:
    """Summarise documents, as the input of a schema."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        contents = (content.as_py() for batch in batches for content in batch.column("content"))
        yield pa.RecordBatch.from_pylist(
            list(_partial_counts(contents, limits)), schema=PARTIAL_COUNTS
        )

    partial = documents.select("content").mapInArrow(count, from_arrow_schema(PARTIAL_COUNTS))
    merged = partial.groupBy("refused", "path", "attribute").agg(
        *(f.sum(name).alias(name) for name in ("elements", "parents", "with_text")),
        f.max("most").alias("most"),
    )
    return _merge_counts([row.asDict() for row in merged.limit(INFERRED_ROWS_MAX + 1).collect()])


def _partial_counts(contents: Iterable[bytes], limits: Limits | None) -> Iterator[dict[str, Any]]:
    """The rows of one task, in :data:`PARTIAL_COUNTS` columns."""
    samples = SampleReader(limits)
    refused: dict[str, int] = {}
    for content in contents:
        try:
            samples.add(content)
        except DocumentError as reason:
            refused[reason.code] = refused.get(reason.code, 0) + 1
        except SchemaError as reason:
            # Raised in the driver, as an error of the whole inference.
            yield {"refused": reason.code, "elements": 1}
            return
    for code, number in refused.items():
        yield {"refused": code, "elements": number}
    for path, counts in samples.summary().paths.items():
        path_text = json.dumps(path)
        yield {
            "path": path_text,
            "elements": counts.elements,
            "parents": counts.parents,
            "most": counts.most,
            "with_text": counts.with_text,
        }
        for name, number in counts.attributes.items():
            yield {"path": path_text, "attribute": json.dumps(name), "elements": number}


def _merge_counts(rows: Sequence[Mapping[str, Any]]) -> Samples:
    if len(rows) > INFERRED_ROWS_MAX:
        message = f"the samples have more than {INFERRED_ROWS_MAX:,} paths and attributes"
        raise error("schema.samples", message)
    paths: dict[NodePath, PathCounts] = {}
    refused: dict[str, int] = {}
    for row in rows:
        if row["refused"] is not None:
            refused[row["refused"]] = row["elements"]
            continue
        path = tuple(Name(*name) for name in json.loads(row["path"]))
        if row["attribute"] is None:
            values = [row[name] for name in ("elements", "parents", "most", "with_text")]
            counts = PathCounts(*values)
        else:
            counts = PathCounts(attributes={Name(*json.loads(row["attribute"])): row["elements"]})
        paths[path] = paths[path].merged(counts) if path in paths else counts
    if "schema.samples" in refused:
        raise error("schema.samples", "the samples of one task have too many paths")
    # merged() enforces the limits of summaries.
    summary = SampleSummary(paths).merged(SampleSummary())
    documents = sum(counts.elements for path, counts in paths.items() if len(path) == 1)
    return Samples(summary, documents, refused)
