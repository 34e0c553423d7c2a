"""Matching of documents on Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

from penstock.errors import PenstockError
from penstock.matching import KeywordIndex, SubscriptionIndex
from penstock.native import native
from penstock.pipeline import document_matching, spark_schemas
from penstock.pipeline.document_matching import match_documents, matches_of
from penstock.workspace.index_versions import write_shards, write_version
from support.spark.example_tables import START, document_table, expected_matches, subscription_table
from support.spark.small_slices import SmallSlices

QUERIES = {
    "anna.cheap": "//item[price < 10]",
    "anna.english": "/news/item[@lang='en']",
    "ben.all": "/news",
    "ben.none": "/olds",
    "carl.price": "//price",
    "dora.all": "item EN price",
    "dora.any": "de OR other",
    "dora.none": "item other",
}
CONTENTS = [
    b"<news><item lang='en'><price>7</price></item></news>",
    b"<news><item lang='de'><price>70</price></item></news>",
    b"<news><item lang='en'></news>",
    b"<other/>",
    b"<?xml version='1.0' encoding='iso-8859-1'?><news><item lang='en'>\xe9</item></news>",
    b"",
]
REFUSED = 2


@pytest.fixture
def documents(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(document_table(CONTENTS), spark_schemas.DOCUMENTS)


def pairs(outcomes: DataFrame) -> set[tuple[str, str]]:
    return {(row.document, row.subscription) for row in matches_of(outcomes).collect()}


def test_matches_are_those_of_the_matcher(documents: DataFrame, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    outcomes = match_documents(documents, version)
    assert pairs(outcomes) == expected_matches(QUERIES, document_table(CONTENTS))


@pytest.mark.parametrize("make", [SubscriptionIndex, KeywordIndex])
def test_an_index_gives_the_same_as_a_version_of_its_subscriptions(
    documents: DataFrame, tmp_path: Path, make: type[SubscriptionIndex | KeywordIndex]
) -> None:
    is_keywords = make is KeywordIndex
    queries = {
        name: query for name, query in QUERIES.items() if name.startswith("dora") == is_keywords
    }
    index = make()
    index.add_many(list(queries), list(queries.values()))
    version = write_version(str(tmp_path), subscription_table(queries))

    def rows(outcomes: DataFrame) -> Sequence[object]:
        matches = matches_of(outcomes).drop("subscriber").orderBy("document", "subscription")
        return matches.collect()

    found = match_documents(documents, index, fragments=True)
    assert rows(found) == rows(match_documents(documents, version, fragments=True))
    assert {row.subscriber for row in matches_of(found).collect()} == {""}


def test_documents_with_many_fragments_are_divided(
    documents: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))

    def rows() -> list[Row]:
        outcomes = match_documents(documents.coalesce(1), version, fragments=True)
        return outcomes.orderBy("document").collect()

    whole = rows()
    monkeypatch.setattr(document_matching, "PartitionMatcher", SmallSlices)
    divided = rows()
    assert len(divided) == len(whole) == len(CONTENTS)
    omitted = 0
    for one, other in zip(divided, whole, strict=True):
        assert (one.document, one.error) == (other.document, other.error)
        assert [each.subscription for each in one.matches] == [
            each.subscription for each in other.matches
        ]
        for given, expected in zip(one.matches, other.matches, strict=True):
            assert given.fragments in (None, expected.fragments)
            omitted += given.fragments is None
    assert 0 < omitted < sum(len(row.matches) for row in whole)


@pytest.mark.parametrize("shards", [2, 5])
def test_shards_give_the_same_as_one_version(
    documents: DataFrame, tmp_path: Path, shards: int
) -> None:
    unsharded = match_documents(
        documents, write_version(str(tmp_path), subscription_table(QUERIES))
    )
    versions = write_shards(str(tmp_path), subscription_table(QUERIES), shards)
    sharded = match_documents(documents, versions)

    def rows(outcomes: DataFrame) -> list[tuple[object, ...]]:
        ordered = outcomes.orderBy("sequence").collect()
        return [
            (*row[:6], sorted(match.subscription for match in row.matches), row.error)
            for row in ordered
        ]

    assert rows(sharded) == rows(unsharded)


def test_a_document_published_twice_has_two_rows_in_every_mode(
    spark: SparkSession, tmp_path: Path
) -> None:
    documents = spark.createDataFrame(document_table(CONTENTS[:1] * 2), spark_schemas.DOCUMENTS)
    for versions in (
        [write_version(str(tmp_path), subscription_table(QUERIES))],
        write_shards(str(tmp_path), subscription_table(QUERIES), 3),
    ):
        assert match_documents(documents, versions).count() == 2


def test_a_refused_document_has_an_error_with_position(
    documents: DataFrame, tmp_path: Path
) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    refused = match_documents(documents, version).where("error is not null")
    errors = {row.sequence: row.error for row in refused.collect()}
    assert sorted(errors) == [2, 5]
    assert errors[2].code == "xml.end-tag"
    # Expat reports the end of the tag's name instead of its start.
    column = 23 if native is not None else 25
    assert (errors[2].line, errors[2].column, errors[2].offset) == (1, column, column - 1)
    assert errors[2].hint


def test_drop_malformed_drops_refused_documents(documents: DataFrame, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    outcomes = match_documents(documents, version, mode="DROPMALFORMED")
    assert outcomes.count() == len(CONTENTS) - REFUSED


def test_fail_fast_names_the_document(documents: DataFrame, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    with pytest.raises(PySparkException, match=r"wire/sha256:\w+: .*\[xml\."):
        match_documents(documents, version, mode="FAILFAST").collect()


def test_fragments_are_spans_of_the_original_bytes(documents: DataFrame, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table({"carl.price": "//price"}))
    outcomes = match_documents(documents, version, fragments=True)
    found = {
        row.document: [
            (fragment.xml, [(span.start, span.end) for span in fragment.spans])
            for fragment in row.fragments
        ]
        for row in matches_of(outcomes).collect()
    }
    names = document_table(CONTENTS).column("document").to_pylist()
    assert found == {
        names[0]: [("<price>7</price>", [(22, 38)])],
        names[1]: [("<price>70</price>", [(22, 39)])],
    }


def test_subscriptions_match_from_their_start_until_they_expire(
    documents: DataFrame, tmp_path: Path
) -> None:
    day = timedelta(days=1)
    table = subscription_table({"anna.all": "/news"}, starts_at=START, expires_at=START + day)
    version = write_version(str(tmp_path), table)

    def matches(at: object) -> int:
        return len(pairs(match_documents(documents, version, at=at)))  # type: ignore[arg-type]

    assert [matches(START + day * days) for days in (-1, 0, 1)] == [0, 3, 0]
    assert matches(None) == 3


@pytest.mark.parametrize(
    ("arguments", "code"),
    [({"subscriptions": []}, "pipeline.versions"), ({"mode": "LENIENT"}, "pipeline.mode")],
)
def test_invalid_arguments_are_refused_immediately(
    documents: DataFrame, arguments: dict[str, object], code: str
) -> None:
    with pytest.raises(PenstockError) as refused:
        match_documents(documents, **{"subscriptions": "x", **arguments})  # type: ignore[arg-type]
    assert refused.value.code == code


@pytest.mark.parametrize("shards", [1, 2])
def test_the_callers_own_columns_and_the_subscriber_are_in_the_result(
    documents: DataFrame, tmp_path: Path, shards: int
) -> None:
    versions = write_shards(str(tmp_path), subscription_table(QUERIES), shards)
    typed = documents.selectExpr(
        "*", "named_struct('rank', sequence * 2, 'tags', array(document)) AS origin"
    )
    outcomes = match_documents(typed, versions, keep_content=True)
    assert outcomes.schema["origin"].dataType == typed.schema["origin"].dataType
    rows = {row.sequence: row for row in outcomes.collect()}
    expected = {row.sequence: row for row in typed.collect()}
    assert rows.keys() == expected.keys()
    for sequence, row in rows.items():
        assert row.origin == expected[sequence].origin
        assert row.content == expected[sequence].content
    for match in matches_of(outcomes).collect():
        assert match.subscriber == match.subscription.partition(".")[0]


def test_content_is_not_in_the_result_by_default(documents: DataFrame, tmp_path: Path) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    assert "content" not in match_documents(documents, version).columns


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop("publisher"), "no column `publisher`"),
        (
            lambda rows: rows.selectExpr("* EXCEPT (content)", "'<a/>' AS content"),
            "has type string",
        ),
        (lambda rows: rows.selectExpr("*", "1 AS matches"), "`matches`"),
    ],
)
def test_wrong_columns_fail_before_a_job_starts(
    documents: DataFrame,
    tmp_path: Path,
    change: Callable[[DataFrame], DataFrame],
    message: str,
) -> None:
    version = write_version(str(tmp_path), subscription_table(QUERIES))
    with pytest.raises(PenstockError, match=message) as refused:
        match_documents(change(documents), version)
    assert refused.value.code == "pipeline.columns"


def test_a_missing_version_fails_before_a_job_starts(documents: DataFrame, tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as refused:
        match_documents(documents, f"{tmp_path}/{'0' * 64}")
    assert refused.value.code == "index.missing"
    with pytest.raises(PenstockError) as refused:
        match_documents(documents, [None])  # type: ignore[list-item]
    assert refused.value.code == "pipeline.versions"
