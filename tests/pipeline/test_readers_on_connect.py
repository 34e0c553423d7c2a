"""The readers on Spark Connect, without a local JVM."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("grpc", reason="Spark Connect needs grpcio")

SCRIPT = """
import json, sys
from pathlib import Path
from pyspark.sql import SparkSession
from penstock.pipeline import infer_schema
from penstock.pipeline.readers import read_archives, read_column, read_directory, read_records
from penstock.schema import print_tree

folder = Path(sys.argv[1])
spark = SparkSession.builder.remote("local[1]").getOrCreate()
assert "connect" in type(spark).__module__
files = read_directory(spark, str(folder / "in"), publisher="a b")
records = dict(path=str(folder / "in"), records="/feed/entry", publisher="me")
batch = read_records(spark, **records)
stream = read_records(spark, **records, stream=True, max_rows_per_trigger=2)
table = spark.createDataFrame([("<feed/>", 7)], "xml string, n int")
column = read_column(spark, table, "xml", publisher="me", fields=["n"])
archives = read_archives(spark, str(folder / "archives"), publisher="me", stream=True)
for read, name in ((stream, "records"), (archives, "members")):
    query = (
        read.writeStream.format("parquet")
        .option("path", str(folder / name))
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
written = [spark.read.parquet(str(folder / name)) for name in ("records", "members")]
found = [files, batch, column, *written]
contents = [sorted(bytes(row.content).decode() for row in frame.collect()) for frame in found]
print(json.dumps([*contents, print_tree(infer_schema(batch))]))
spark.stop()
"""


def test_readers_work_on_spark_connect(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    document = "<feed><entry>1</entry><entry>2</entry><entry>3</entry></feed>"
    (tmp_path / "in" / "feed.xml").write_text(document, encoding="utf-8")
    (tmp_path / "archives").mkdir()
    (tmp_path / "archives" / "feed.xml.gz").write_bytes(gzip.compress(document.encode()))
    source = str(Path(__file__).resolve().parents[2] / "src")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
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
    records = [f"<entry>{n}</entry>" for n in (1, 2, 3)]
    assert json.loads(done.stdout.splitlines()[-1]) == [
        [document],
        records,
        ["<feed/>"],
        records,
        [document],
        "penstock schema 1\n\nentry text\n",
    ]
    assert len(list((tmp_path / "records-checkpoint" / "commits").glob("[0-9]*"))) > 1
