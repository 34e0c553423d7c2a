"""A schema inferred from documents on Spark: counted in every task, brought together by path."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

from penstock.documents import Limits, Name, read_events
from penstock.errors import DocumentError, SchemaError, error
from penstock.pipeline.limits import INFERRED_ROWS_MAX
from penstock.schema import NodePath, PathCounts, SampleSummary, SchemaTree

_COLUMNS: Final[dict[str, pa.DataType]] = {
    "refused": pa.string(),
    "path": pa.string(),
    "attribute": pa.string(),
    "elements": pa.int64(),
    "parents": pa.int64(),
    "most": pa.int64(),
    "with_text": pa.int64(),
}

PARTIAL: Final = pa.schema(_COLUMNS)
"""A row for each path, for each attribute at a path, and for each reason to refuse documents. The
last two have only ``elements``: those that have the attribute, and the documents refused."""


@dataclass(frozen=True, slots=True)
class Samples:
    """What documents showed, and how many there were."""

    summary: SampleSummary
    documents: int
    """Documents that were read."""
    refused: Mapping[str, int]
    """Documents that were refused, by the code of the error."""

    def tree(self, root: Name | None = None) -> SchemaTree:
        """The schema that every document meets; a remark says how many were refused."""
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
        With a column ``content``, as the readers of :mod:`penstock.pipeline.readers` give them.
    root
        The root, where documents have several.
    limits
        How large a document may be, in every respect.

    Returns
    -------
    The tree with what is narrowest of once, ``?``, ``*`` and ``+`` for all documents. How many were
    refused, and why, is among its remarks.

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
    """Sum up documents, of which the schema can then be made."""

    def count(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        contents = (content.as_py() for batch in batches for content in batch.column("content"))
        yield pa.RecordBatch.from_pylist(list(_counted(contents, limits)), schema=PARTIAL)

    partial = documents.select("content").mapInArrow(count, from_arrow_schema(PARTIAL))
    merged = partial.groupBy("refused", "path", "attribute").agg(
        *(f.sum(name).alias(name) for name in ("elements", "parents", "with_text")),
        f.max("most").alias("most"),
    )
    return _samples([row.asDict() for row in merged.limit(INFERRED_ROWS_MAX + 1).collect()])


def _counted(contents: Iterable[bytes], limits: Limits | None) -> Iterator[dict[str, Any]]:
    """The rows of one task, which has one summary at a time."""
    summary = SampleSummary()
    refused: dict[str, int] = {}
    for content in contents:
        try:
            summary = summary.merged(SampleSummary.of(read_events(content, limits=limits)))
        except DocumentError as reason:
            refused[reason.code] = refused.get(reason.code, 0) + 1
        except SchemaError as reason:
            # Too many paths in one task are too many in all: the driver raises it.
            yield {"refused": reason.code, "elements": 1}
            return
    for code, number in refused.items():
        yield {"refused": code, "elements": number}
    for path, counts in summary.paths.items():
        at = json.dumps(path)
        yield {
            "path": at,
            "elements": counts.elements,
            "parents": counts.parents,
            "most": counts.most,
            "with_text": counts.with_text,
        }
        for name, number in counts.attributes.items():
            yield {"path": at, "attribute": json.dumps(name), "elements": number}


def _samples(rows: Sequence[Mapping[str, Any]]) -> Samples:
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
            given = [row[name] for name in ("elements", "parents", "most", "with_text")]
            counts = PathCounts(*given)
        else:
            counts = PathCounts(attributes={Name(*json.loads(row["attribute"])): row["elements"]})
        paths[path] = paths[path].merged(counts) if path in paths else counts
    if "schema.samples" in refused:
        raise error("schema.samples", "the samples of one task have too many paths")
    # Merged with nothing, so that what is too much in all is refused as it is from files.
    summary = SampleSummary(paths).merged(SampleSummary())
    documents = sum(counts.elements for path, counts in paths.items() if len(path) == 1)
    return Samples(summary, documents, refused)
