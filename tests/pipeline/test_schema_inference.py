"""Schemas inferred on Spark are those inferred from files, however documents are partitioned."""

from __future__ import annotations

from functools import reduce

import pytest
from pyspark.sql import SparkSession

from penstock.documents import Name, read_events
from penstock.errors import SchemaError
from penstock.pipeline import schema_inference, spark_schemas
from penstock.pipeline.schema_inference import summarise
from penstock.schema import SampleSummary, sample_inference
from support.spark.example_tables import document_table

CONTENTS = [
    b"<news><item lang='en'><price>7</price></item><item xmlns='urn:x'/></news>",
    b"<news><item><price>70</price><price currency='EUR'>8</price></item></news>",
    b"<news>text<item n='1'/></news>",
    b"<other/>",
    b"<news><item lang='en'></news>",
    b"",
]
READABLE = CONTENTS[:4]


def test_spark_infers_the_schema_that_files_give(spark: SparkSession) -> None:
    table = spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)
    documents = table.repartition(3, "sequence")
    each = [SampleSummary.of(read_events(content)) for content in READABLE]
    expected = reduce(SampleSummary.merged, each)
    found = summarise(documents)
    assert found.summary == expected
    assert (found.documents, sum(found.refused.values())) == (4, 2)
    news = Name("", "news")
    tree = found.tree(news)
    assert tree == expected.tree(news)
    assert tree.remarks == ("2 of 6 documents were refused: xml.end-tag 1, xml.root 1",)


def test_too_many_paths_in_one_task_fail_in_the_driver(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_inference, "SAMPLE_PATHS_MAX", 2)
    rows = list(schema_inference._partial_counts([b"<a><b/><c/></a>"], None))
    assert rows == [{"refused": "schema.samples", "elements": 1}]
    with pytest.raises(SchemaError, match="one task have too many paths"):
        schema_inference._merge_counts(rows)


def test_too_many_paths_and_attributes_in_total_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = list(schema_inference._partial_counts([b"<a x='1'><b/><c/></a>"], None))
    monkeypatch.setattr(schema_inference, "INFERRED_ROWS_MAX", 3)
    with pytest.raises(SchemaError, match="more than 3 paths and attributes") as caught:
        schema_inference._merge_counts(rows)
    assert caught.value.code == "schema.samples"
