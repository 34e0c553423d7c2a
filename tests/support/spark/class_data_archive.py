"""Keeps the classes of Spark as a JVM has them once they are read, for the JVMs of the tests.

To read and check them is half of what a short-lived Spark does, and the tests start two dozen.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark import SparkContext
from pyspark.sql import SparkSession

from support.spark.jvm_options import KEPT_CLASSES, SHORT_LIVED


def keep() -> None:
    """Write the classes of a JVM in which a table and a stream have gone through Python."""
    making = KEPT_CLASSES.with_suffix(".part")
    making.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = (
        f'{SHORT_LIVED} -XX:ArchiveClassesAtExit="{making}" -Xlog:disable'
    )
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        _use_spark(Path(folder))
    making.rename(KEPT_CLASSES)


def _use_spark(folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    gateway = SparkContext._gateway
    assert gateway is not None
    numbers = spark.range(2).mapInArrow(_same, "id long")
    numbers.write.parquet(str(folder / "in"))
    stream = spark.readStream.schema("id long").parquet(str(folder / "in"))
    writer = stream.mapInArrow(_same, "id long").writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.start(str(folder / "out"), format="parquet").awaitTermination()
    spark.stop()
    # It ends with its input, and writes then.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    keep()
