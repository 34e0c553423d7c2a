"""Matching by an expression gives what matching of a DataFrame gives."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.matching import SubscriptionIndex
from penstock.pipeline import match_documents, outcome_column, spark_schemas
from penstock.workspace.index_versions import write_version
from support.spark.example_tables import document_table, subscription_table

QUERIES = {"anna.cheap": "//item[price < 10]", "ben.all": "/news", "dora.all": "item EN price"}
CONTENTS = [
    b"<news><item lang='en'><price>7</price></item></news>",
    b"<news><item></news>",
    b"<other/>",
    b"",
]


def test_outcomes_are_those_of_the_documents(spark: SparkSession, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    documents = spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)
    documents = documents.repartition(2)
    names = ("document", "matches", "error", "unknown_elements", "set_aside")
    expected = match_documents(documents, version, fragments=True).select(*names)
    outcome = outcome_column(version, fragments=True)
    found = documents.select("document", outcome.alias("outcome")).select("document", "outcome.*")
    assert found.schema.names == list(names)
    assert sorted(found.collect(), key=str) == sorted(expected.collect(), key=str)


def test_failfast_fails_the_job(spark: SparkSession) -> None:
    index = SubscriptionIndex()
    index.add("all", "/news")
    documents = spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)
    with pytest.raises(PySparkException, match="DocumentError"):
        documents.select(outcome_column(index, mode="FAILFAST")).collect()


def test_an_expression_neither_drops_rows_nor_takes_shards() -> None:
    with pytest.raises(PenstockError, match="drop rows") as refused:
        outcome_column("version", mode="DROPMALFORMED")
    assert refused.value.code == "pipeline.mode"
    with pytest.raises(PenstockError, match="one index version") as refused:
        outcome_column(["one", "two"])  # type: ignore[arg-type]
    assert refused.value.code == "pipeline.versions"
