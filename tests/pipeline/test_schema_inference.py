"""Schemas inferred on Spark: the same as from files, in whatever parts the documents come."""

from __future__ import annotations

from functools import reduce

import pytest
from pyspark.sql import SparkSession

from penstock.documents import Name, read_events
from penstock.errors import SchemaError
from penstock.pipeline import schema_inference as inferring
from penstock.pipeline import spark_schemas
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


def test_a_schema_from_spark_is_that_from_files(spark: SparkSession) -> None:
    table = spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)
    documents = table.repartition(3, "sequence")
    each = [SampleSummary.of(read_events(content)) for content in READABLE]
    plain = reduce(SampleSummary.merged, each)
    found = summarise(documents)
    assert found.summary == plain
    assert (found.documents, sum(found.refused.values())) == (4, 2)
    news = Name("", "news")
    tree = found.tree(news)
    assert tree == plain.tree(news)
    assert tree.remarks == ("2 of 6 documents were refused: xml.end-tag 1, xml.root 1",)


def test_too_many_paths_in_one_task_are_the_drivers_to_refuse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sample_inference, "SAMPLE_PATHS_MAX", 2)
    rows = list(inferring._counted([b"<a><b/><c/></a>"], None))
    assert rows == [{"refused": "schema.samples", "elements": 1}]
    with pytest.raises(SchemaError, match="one task have too many paths"):
        inferring._samples(rows)


def test_more_paths_and_attributes_than_the_driver_takes_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = list(inferring._counted([b"<a x='1'><b/><c/></a>"], None))
    monkeypatch.setattr(inferring, "INFERRED_ROWS_MAX", 3)
    with pytest.raises(SchemaError, match="more than 3 paths and attributes") as caught:
        inferring._samples(rows)
    assert caught.value.code == "schema.samples"
