"""The session that the tests of the pipeline share."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def workers_python(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    from penstock.native import native

    for _ in batches:
        core = getattr(native, "__name__", None)
        yield pa.RecordBatch.from_pydict({"python": [sys.executable], "core": [core]})


def test_workers_run_this_python_and_this_penstock(spark: SparkSession) -> None:
    from penstock.native import native

    found = spark.range(1).mapInArrow(workers_python, "python string, core string").collect()
    assert {(row.python, row.core) for row in found} == {
        (sys.executable, getattr(native, "__name__", None))
    }
