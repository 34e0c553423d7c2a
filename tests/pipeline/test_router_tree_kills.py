"""A stream through a tree of routers survives ``kill -9`` of its process between two commits."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from deltalake import DeltaTable

from penstock.workspace.delta import last_committed_batch
from penstock.workspace.pipeline_tables import Tables
from support.spark.session import require_java

SCRIPT = """
import os, signal, sys
from pathlib import Path
from pyspark.sql import SparkSession
from penstock.pipeline import (
    RoutedBatchDelivery, delivery, read_directory, start_stream, write_router_tree
)
from penstock.workspace.pipeline_tables import Tables

folder, kills = Path(sys.argv[1]), sys.argv[2] == "kill"
builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False)
builder = builder.config("spark.sql.shuffle.partitions", 2).config("spark.log.level", "OFF")
spark = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
rows = [(f"r{n % 3}", f"s{n}", f"reader {n % 2}", "xpath", f"/news[@n >= {n}]") for n in range(6)]
columns = "router string, subscription string, subscriber string, kind string, query string"
links = [("r0", "r1"), ("r1", "r2")]
tree = write_router_tree(spark.createDataFrame(rows, columns), links, str(folder / "tree"))
tables = Tables(str(folder / "tables"))
tables.create()
if kills:
    commit = delivery.commit_deliveries

    def commit_and_die(*given, **options):
        commit(*given, **options)
        os.kill(os.getpid(), signal.SIGKILL)

    delivery.commit_deliveries = commit_and_die
routed = RoutedBatchDelivery(
    tree=lambda: tree,
    tables=tables,
    router=lambda: "r0",
    records=str(folder / "records"),
    stream="s",
)
documents = read_directory(
    spark, str(folder / "in"), publisher="wire", stream=True, max_files_per_trigger=3
)
start_stream(documents, routed, checkpoint=folder / "checkpoint").awaitTermination()
spark.stop()
"""


def run(folder: Path, what: str) -> int:
    require_java()
    environment = {
        **os.environ,
        "PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src"),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), what],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


@pytest.mark.skipif(sys.platform != "linux", reason="as the kills of the pipeline")
def test_a_batch_that_was_killed_between_two_commits_is_committed_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number in range(6):
        (tmp_path / "in" / f"{number}.xml").write_text(f"<news n='{number}'/>", encoding="utf-8")
    tables = Tables(str(tmp_path / "tables"))
    assert run(tmp_path, "kill") == -signal.SIGKILL
    assert last_committed_batch(tables.deliveries, "s") == 0
    assert last_committed_batch(tables.counts, "s") is None
    assert run(tmp_path, "") == 0
    found = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    counts = Counter(str(row["delivery"]) for row in found)
    assert set(counts.values()) == {1}
    assert len(counts) == sum(range(1, 7)), "document n matches the subscriptions up to n"
    assert len(DeltaTable(tables.counts).to_pyarrow_table()) == 2
