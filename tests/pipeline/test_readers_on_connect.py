"""The readers and a declarative pipeline on Spark Connect, without a local JVM."""

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
from pyspark import pipelines
from pyspark.pipelines.graph_element_registry import graph_element_registration_context
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, start_run
from pyspark.sql import SparkSession
from penstock.matching import SubscriptionIndex
from penstock.pipeline import infer_schema, matches_of, outcome_column
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

# What `spark-pipelines run` does. A query function must not analyze a DataFrame.
index = SubscriptionIndex()
index.add("third", "/entry[. = 3]")
graph = create_dataflow_graph(spark, None, None, {})
with graph_element_registration_context(SparkConnectGraphElementRegistry(spark, graph)):

    @pipelines.temporary_view
    def outcomes():
        outcome = outcome_column(index).alias("outcome")
        return written[0].select("document", outcome).select("document", "outcome.*")

    @pipelines.materialized_view
    def matches():
        return matches_of(spark.read.table("outcomes"))

storage = (folder / "pipeline").as_uri()
options = dict(full_refresh=[], full_refresh_all=False, refresh=[], dry=False, storage=storage)
for _ in start_run(spark, graph, **options):
    pass
matched = [row.subscription for row in spark.read.table("matches").collect()]
print(json.dumps([*contents, print_tree(infer_schema(batch)), matched]))
spark.stop()
"""


def test_readers_and_declarative_pipelines_work_on_spark_connect(tmp_path: Path) -> None:
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
        cwd=tmp_path,  # where Spark creates its warehouse
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
        ["third"],
    ]
    assert len(list((tmp_path / "records-checkpoint" / "commits").glob("[0-9]*"))) > 1
