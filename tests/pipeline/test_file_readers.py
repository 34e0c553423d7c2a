"""Documents from directories and columns."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

from penstock.documents import Document, Header
from penstock.pipeline.readers import read_column, read_directory
from penstock.pipeline.sequence_numbers import ORDER_KEY_MIN, POSITIONS_PER_MICROSECOND
from penstock.pipeline.spark_schemas import DOCUMENTS
from support.spark.drain_stream import drain_stream

PUBLISHERS = ["plain", "a b/c+d", "100%*~", "é日\U0001f600", "", "a?b&c=d'\"<>\\", "._-"]


def test_identities_equal_those_of_document_objects(spark: SparkSession) -> None:
    contents = [b"<a/>", b"\xff\x00", b""]
    rows = [(p, i, c) for p in PUBLISHERS for i in ("", None, "a/7 é") for c in contents]
    table = spark.createDataFrame(rows, "publisher string, id string, content binary")
    found = read_column(
        spark, table, "content", publisher=col("publisher"), id=col("id"), fields=["id"]
    ).collect()
    assert len(found) == len(rows)
    for row in found:
        header = Header(publisher=row.publisher, id=row.fields.get("id", ""))
        assert row.document == Document(bytes(row.content), header).identity


def test_a_directory_is_read_as_documents(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for name, content in {
        "a.xml": b"<a/>",
        "with space %20.xml": b"<b>\xe9",
        "no.txt": b"",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "in" / "c.xml").write_bytes(b"<c/>")
    documents = read_directory(
        spark, str(tmp_path), publisher="me", pattern="*.xml", recursive=True, fields={"k": "v"}
    )
    assert [(field.name, field.dataType) for field in documents.schema] == [
        (field.name, field.dataType) for field in DOCUMENTS
    ]
    rows = {bytes(row.content): row for row in documents.collect()}
    assert set(rows) == {b"<a/>", b"<b>\xe9", b"<c/>"}
    assert rows[b"<a/>"].document == Document(b"<a/>", Header(publisher="me")).identity
    assert rows[b"<a/>"].fields["k"] == "v"
    assert rows[b"<b>\xe9"].fields["file"].endswith("/with space %20.xml")
    microseconds = (rows[b"<a/>"].sequence - ORDER_KEY_MIN) // POSITIONS_PER_MICROSECOND
    assert microseconds == (tmp_path / "a.xml").stat().st_mtime_ns // 1000_000 * 1000


def test_times_that_do_not_fit_into_an_order_key_do_not_fail(spark: SparkSession) -> None:
    years = [1, 1969, 2026, 9999]
    rows = [("<a/>", datetime(year, 1, 2, tzinfo=UTC)) for year in years]
    table = spark.createDataFrame(rows, "content string, at timestamp")
    found = read_column(spark, table, "content", publisher="me", published_at=col("at")).collect()
    keys = [row.sequence for row in found]
    assert keys == sorted(keys)
    assert max(keys) < 0


def test_a_stream_of_a_directory_reads_new_files_once(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "inbox"
    folder.mkdir()
    (folder / "1.xml").write_bytes(b"<a/>")
    documents = read_directory(
        spark, str(folder), publisher="me", stream=True, max_files_per_trigger=1
    )
    assert [bytes(row.content) for row in drain_stream(documents, tmp_path)] == [b"<a/>"]
    (folder / "2.xml").write_bytes(b"<b/>")
    assert {bytes(row.content) for row in drain_stream(documents, tmp_path)} == {b"<a/>", b"<b/>"}
    with pytest.raises(TypeError, match="shema"):
        read_directory(spark, str(folder), publisher="me", shema="x")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="one path"):
        read_directory(spark, [str(folder)], publisher="me", stream=True)


def test_a_string_column_is_encoded_as_utf_8_without_its_declaration(spark: SparkSession) -> None:
    declared = '<?xml version="1.0" encoding="UTF-16" standalone="yes"?><a encoding="x">é</a>'
    time = datetime(2026, 1, 2, tzinfo=UTC)
    table = spark.createDataFrame([(declared, time), (None, None)], "content string, at timestamp")
    rows = read_column(
        spark, table, "content", publisher="me", schema="s", published_at=col("at")
    ).collect()
    full, null = sorted(rows, key=lambda row: -len(row.content))
    assert bytes(full.content).decode() == declared.replace(' encoding="UTF-16"', "")
    assert (full.schema, full.published_at) == ("s", datetime(2026, 1, 2))
    assert bytes(null.content) == b""
    assert null.published_at is not None


@pytest.mark.parametrize("stream", [False, True])
def test_a_table_is_read_by_name(spark: SparkSession, tmp_path: Path, stream: bool) -> None:
    name = f"published_{stream}".lower()
    spark.createDataFrame([("<a/>",)], "xml string").write.mode("overwrite").saveAsTable(name)
    documents = read_column(spark, name, "xml", publisher="me", stream=stream)
    assert documents.isStreaming == stream
    rows = drain_stream(documents, tmp_path) if stream else documents.collect()
    assert [bytes(row.content) for row in rows] == [b"<a/>"]
