"""Aggregation of subscriptions on Spark: the same result as in one process."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import PenstockError
from penstock.lab.workload import workload
from penstock.pipeline import (
    aggregate_subscriptions,
    subscription_containment,
    subscription_patterns,
)
from penstock.routing import AggregatedSet, Pattern, SampledDocuments, containment_order

COLUMNS = (
    "subscription string, kind string, query string, namespaces map<string,string>,"
    " default_namespace string, where map<string,string>"
)

KEYWORDS = ["storm", "storm coast", '"storm surge" coast', "storm OR gale", "gale OR flood"]


def subscriptions(count: int) -> list[tuple[object, ...]]:
    """Paths, keywords, prefixes, header tests, and duplicates."""
    chance = random.Random(1)
    queries = chance.sample(workload("paths-dense").queries(5 * count), count)
    rows: list[tuple[object, ...]] = [
        (f"p{number}", "xpath", query, None, None, {"lang": "en"} if number % 5 == 0 else None)
        for number, query in enumerate([*queries, *queries[:5]])
    ]
    rows += [(f"k{n}", "keywords", query, None, None, None) for n, query in enumerate(KEYWORDS)]
    rows.append(("n1", "xpath", "/x:a/x:b", {"x": "urn:x"}, None, None))
    rows.append(("n2", "xpath", "/a/b", {}, "urn:x", {}))
    return rows


def pattern_of(row: tuple[object, ...]) -> Pattern:
    _, kind, query, namespaces, default_namespace, where = row
    if kind == "keywords":
        return Pattern.of_keywords(query, where=where)  # type: ignore[arg-type]
    return Pattern.of_path(
        query,  # type: ignore[arg-type]
        namespaces=namespaces,  # type: ignore[arg-type]
        default_namespace=default_namespace,  # type: ignore[arg-type]
        where=where,  # type: ignore[arg-type]
    )


ROWS = subscriptions(120)
SAMPLE = SampledDocuments.of(workload("paths-dense").documents(12, seed=3))


@pytest.fixture
def patterns(spark: SparkSession) -> DataFrame:
    return subscription_patterns(spark.createDataFrame(ROWS, COLUMNS).repartition(3))


@pytest.mark.parametrize("bound", [40, 250, 10_000])
def test_the_aggregate_is_that_of_one_process(patterns: DataFrame, bound: int) -> None:
    built = AggregatedSet.build(
        {str(row[0]): pattern_of(row) for row in ROWS}, bound=bound, sample=SAMPLE, refine=False
    )
    aggregate = aggregate_subscriptions(patterns, bound=bound, sample=SAMPLE)
    found = {row.pattern: row for row in aggregate.patterns.collect()}
    assert set(found) == {pattern.key for pattern in built.patterns}
    assert sum(row["size"] for row in found.values()) == built.size <= bound
    for pattern in built.patterns:
        assert found[pattern.key].members == len(built.members_of(pattern))
        assert found[pattern.key].is_exact == built.is_exact(pattern)
    assert all(table.is_cached for table in aggregate.cached), "each block is aggregated once"
    aggregate.unpersist()
    assert not any(table.is_cached for table in aggregate.cached)
    members = {row.subscription: row.pattern for row in aggregate.members.collect()}
    assert members == {str(row[0]): built.pattern_for(str(row[0])).key for row in ROWS}


def test_the_order_is_that_of_one_process(patterns: DataFrame) -> None:
    expected = {
        (pair.container.key, pair.contained.key): pair.is_direct
        for pair in containment_order(map(pattern_of, ROWS))
    }
    assert len(expected) > 20
    assert set(expected.values()) == {True, False}
    # Cached, as it is recommended: the plan of a cached table is another one.
    found = subscription_containment(patterns.cache()).collect()
    patterns.unpersist()
    assert {(row.container, row.contained): row.is_direct for row in found} == expected
    assert len(found) == len(expected)
    direct = subscription_containment(patterns, direct_only=True, tasks=2).collect()
    assert {(row.container, row.contained) for row in direct} == {
        pair for pair, is_direct in expected.items() if is_direct
    }
    assert all(row.is_direct for row in direct)


def test_invalid_subscriptions_are_returned_and_left_out(spark: SparkSession) -> None:
    rows = [
        ("good", "xpath", "/a"),
        ("bad", "xpath", "/a["),
        ("mixed", "keywords", "a OR b c"),
        ("odd", "sql", "/a"),
    ]
    table = spark.createDataFrame(rows, "subscription string, kind string, query string")
    parsed = subscription_patterns(table)
    codes = {row.subscription: row.code for row in parsed.collect()}
    assert codes["good"] is None
    assert codes["bad"].startswith("query.")
    assert codes["mixed"] == "keywords.mixed"
    assert codes["odd"] == "subscription.kind"
    members = aggregate_subscriptions(parsed).members.collect()
    assert [row.subscription for row in members] == ["good"]


def test_an_empty_table_has_an_empty_aggregate(spark: SparkSession) -> None:
    parsed = subscription_patterns(spark.createDataFrame([], COLUMNS))
    assert aggregate_subscriptions(parsed).patterns.collect() == []
    assert subscription_containment(parsed).collect() == []


def test_missing_columns_and_bounds_are_refused(spark: SparkSession) -> None:
    table = spark.createDataFrame([("s", "/a")], "subscription string, query string")
    with pytest.raises(PenstockError) as caught:
        subscription_patterns(table)
    assert caught.value.code == "pipeline.columns"
    parsed = subscription_patterns(spark.createDataFrame([], COLUMNS))
    with pytest.raises(PenstockError) as caught:
        aggregate_subscriptions(parsed, bound=0)
    assert caught.value.code == "routing.bound"


CONNECT_SCRIPT = """
import json
from pyspark.sql import SparkSession
from penstock.pipeline import aggregate_subscriptions, subscription_containment
from penstock.pipeline import subscription_patterns
from penstock.routing import Pattern

spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert "connect" in type(spark).__module__
spark.conf.set("spark.sql.shuffle.partitions", "1")  # by default mostly empty tasks
rows = [("s1", "xpath", "/a/b"), ("s2", "xpath", "/a/c"), ("s3", "xpath", "/a/b/c")]
table = spark.createDataFrame(rows, "subscription string, kind string, query string")
patterns = subscription_patterns(table)
aggregate = aggregate_subscriptions(patterns, bound=3)
found = [[str(Pattern.from_key(row.pattern)), row.members] for row in aggregate.patterns.collect()]
pairs = [list(map(str, map(Pattern.from_key, row[:2])))
         for row in subscription_containment(patterns).collect()]
print(json.dumps([found, pairs]))
spark.stop()
"""


def test_aggregation_works_on_spark_connect() -> None:
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    source = str(Path(__file__).resolve().parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", CONNECT_SCRIPT],
        env={
            **os.environ,
            "PYTHONPATH": source,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [[["/a/*", 3]], [["/a/b", "/a/b/c"]]]
