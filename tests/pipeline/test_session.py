"""Spark sessions: the Python of workers, and the loss of a worker."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.pipeline.session import JAVA_FAILURES
from support.spark.session import require_java
from support.spark.subprocess_clients import (
    KilledOnce,
    pythons_of_default_session,
    reason_of_no_session,
    run_in_subprocess,
)


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


def test_a_lost_worker_ends_a_job_of_local_2(spark: SparkSession, tmp_path: Path) -> None:
    # The reason for the default master `local[*,4]`.
    assert spark.conf.get("spark.master") == "local[2]"
    job = spark.range(1).mapInArrow(KilledOnce(str(tmp_path / "killed")), "python string")
    with pytest.raises(JAVA_FAILURES):
        job.collect()


@pytest.mark.spark
def test_the_default_session_survives_a_lost_worker_and_runs_this_python(tmp_path: Path) -> None:
    require_java()
    assert run_in_subprocess(pythons_of_default_session, tmp_path) == {sys.executable}
    assert (tmp_path / "killed").exists()


def test_an_unreachable_connect_server_is_an_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        reason = run_in_subprocess(reason_of_no_session, f"sc://127.0.0.1:{port}", tmp_path)
    assert reason.endswith("no answer in 1 seconds [pipeline.unreachable]")
    reason = run_in_subprocess(reason_of_no_session, f"sc://127.0.0.1:{port}", tmp_path)
    assert reason.endswith("Connection refused [pipeline.unreachable]")
