"""Writes a class data sharing (CDS) archive of Spark's classes for the JVMs of the tests.

Loading and verifying classes takes half the time of a short Spark process, and the tests start two
dozen of them.
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

from support.spark.jvm_options import CLASS_DATA_ARCHIVE, FAST_START_OPTIONS


def write_archive() -> None:
    """Archive the classes of a JVM that has run a batch and a stream through Python."""
    temporary = CLASS_DATA_ARCHIVE.with_suffix(".part")
    temporary.unlink(missing_ok=True)
    os.environ["SPARK_SUBMIT_OPTS"] = (
        f'{FAST_START_OPTIONS} -XX:ArchiveClassesAtExit="{temporary}" -Xlog:disable'
    )
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with tempfile.TemporaryDirectory() as folder:
        _use_spark(Path(folder))
    temporary.rename(CLASS_DATA_ARCHIVE)


def _use_spark(folder: Path) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.log.level", "OFF").getOrCreate()
    gateway = SparkContext._gateway
    assert gateway is not None
    numbers = spark.range(2).mapInArrow(_identity, "id long")
    numbers.write.parquet(str(folder / "in"))
    stream = spark.readStream.schema("id long").parquet(str(folder / "in"))
    writer = stream.mapInArrow(_identity, "id long").writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.start(str(folder / "out"), format="parquet").awaitTermination()
    spark.stop()
    # The JVM exits when its stdin is closed, and writes the archive on exit.
    gateway.proc.stdin.close()
    gateway.proc.wait()


def _identity(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


if __name__ == "__main__":
    write_archive()
