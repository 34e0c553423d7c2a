"""Records of huge files."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import spark_partition_id

from penstock.documents import Document, Header, cut_records, read_events
from penstock.errors import DocumentError, QueryError
from penstock.pipeline.readers import read_records
from support.spark.drain_stream import drain_stream

STEPS = ((None, "feed"), (None, "entry"))


def feed(first: int, count: int, tail: str = "</feed>") -> bytes:
    entries = "".join(
        f"<entry n='{n}'>{'x' * (n % 50)}</entry>\n" for n in range(first, first + count)
    )
    return f"<?xml version='1.0'?>\n<feed xmlns:p='urn:p'>{entries}{tail}".encode()


def contents(document: bytes) -> list[bytes]:
    return [record.content for record in cut_records(document, STEPS) if record.fault is None]


def test_a_file_split_among_tasks_gives_its_records_in_order(
    spark: SparkSession, tmp_path: Path
) -> None:
    document = feed(0, 150, tail="<entry><broken></entry></feed>")
    (tmp_path / "feed %20.xml").write_bytes(document)
    (tmp_path / "_being_written.xml").write_bytes(b"<")
    documents = read_records(
        spark, str(tmp_path), "/feed/entry", publisher="me", partition_bytes=3000
    )
    with_tasks = documents.withColumn("task", spark_partition_id()).collect()
    rows = sorted(with_tasks, key=lambda row: row.sequence)
    assert len({row.task for row in rows}) > 2
    *good, rest = rows
    assert [bytes(row.content) for row in good] == contents(document)
    assert len({row.sequence for row in rows}) == len(rows)
    assert good[7].document == Document(contents(document)[7], Header(publisher="me")).identity
    assert good[7].fields["file"].endswith("/feed %20.xml")
    assert document[int(good[7].fields["offset"]) :].startswith(b"<entry n='7'>")
    assert "fault" not in good[7].fields
    assert "[xml.end-tag]" in rest.fields["fault"]
    with pytest.raises(DocumentError, match=re.escape("xml.end-tag")):
        read_events(bytes(rest.content))


def test_compressed_files_are_read_and_their_damage_is_a_row(
    spark: SparkSession, tmp_path: Path
) -> None:
    document = feed(0, 50)
    (tmp_path / "intact.xml.gz").write_bytes(gzip.compress(document))
    (tmp_path / "cut.xml.gz").write_bytes(gzip.compress(feed(0, 5000))[:-100])
    (tmp_path / "bomb.xml.gz").write_bytes(gzip.compress(b"<feed>" + b" " * (2 << 20)))
    rows = read_records(
        spark, str(tmp_path), "/feed/entry", publisher="me", archive_ratio=100
    ).collect()
    by_file: dict[str, list[str | None]] = {}
    for row in rows:
        name = row.fields["file"].rpartition("/")[2]
        by_file.setdefault(name, []).append(row.fields.get("fault"))
    assert by_file["intact.xml.gz"] == [None] * 50
    assert "[archive.damaged]" in (by_file["cut.xml.gz"].pop() or "")
    assert set(by_file["cut.xml.gz"]) == {None}
    assert ["[archive.ratio]" in (fault or "") for fault in by_file["bomb.xml.gz"]] == [True]


def test_a_stream_respects_its_limits_and_reads_each_record_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "1.xml").write_bytes(feed(0, 30))
    (folder / "2.xml.gz").write_bytes(gzip.compress(feed(30, 10)))
    documents = read_records(
        spark,
        str(folder),
        "/feed/entry",
        publisher="me",
        stream=True,
        max_rows_per_trigger=16,
        partition_bytes=700,
    )
    rows = drain_stream(documents, tmp_path)
    assert sorted(bytes(row.content) for row in rows) == sorted(contents(feed(0, 40)))
    # 40 records, 16 a micro-batch.
    assert len(list((tmp_path / "checkpoint" / "commits").glob("[0-9]*"))) == 3
    (folder / "0.xml").write_bytes(feed(40, 3, tail="<entry>"))
    rows = drain_stream(documents, tmp_path)
    assert len(rows) == 44
    assert sum("fault" in row.fields for row in rows) == 1


@pytest.mark.parametrize(
    "path", ["//entry", "/feed/entry[1]", "/feed/@n", "/a | /b", "/feed/text()"]
)
def test_a_path_of_other_than_child_steps_is_refused(spark: SparkSession, path: str) -> None:
    with pytest.raises(QueryError, match=re.escape("records.path")):
        read_records(spark, "nowhere", path, publisher="me")
