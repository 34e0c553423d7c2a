"""Functions that run in a subprocess with their own Spark session, as a process has only one."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

import pyarrow as pa
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from penstock.errors import PenstockError
from penstock.pipeline import deliver_routed, write_router_tree
from penstock.pipeline import session as connection
from penstock.pipeline.delivery import deliver
from penstock.pipeline.document_matching import match_documents, matches_of
from penstock.pipeline.session import SQL_SETTINGS, session
from penstock.workspace.index_versions import write_version
from penstock.workspace.pipeline_tables import Tables
from support.fixtures.mediated_data import UNCHANGED, mappings_at
from support.spark.example_tables import START, document_table, subscription_table

P = ParamSpec("P")
T = TypeVar("T")

Pairs = set[tuple[str, str]]
"""Document and subscription."""


def run_in_subprocess(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, args, dict(kwargs))


def _routed_pairs(
    spark: SparkSession, folder: Path, documents: DataFrame, queries: Mapping[str, str]
) -> Pairs:
    """The deliveries of routers in a chain, each with some of the subscriptions."""
    subscriptions = spark.createDataFrame(subscription_table(queries)).withColumn(
        "router", f.concat(f.lit("r"), f.pmod(f.crc32("subscription"), f.lit(3)))
    )
    links = [("r0", "r1"), ("r1", "r2")]
    tree = write_router_tree(subscriptions, links, str(folder / "tree"))
    tables = Tables(str(folder / "routed"))
    tables.create()
    counts = deliver_routed(documents, tree, tables, router="r0", stream="s", batch=0, at=START)
    assert counts is not None
    rows = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    return {(str(row["document"]), str(row["subscription"])) for row in rows}


def match_and_deliver(
    remote: str, folder: Path, contents: list[bytes], queries: Mapping[str, str]
) -> tuple[Pairs, Pairs]:
    """Match and deliver one batch through a Spark Connect server; returns the pairs of both."""
    documents = document_table(contents, schema="news")
    mappings = mappings_at(folder, {"news": UNCHANGED})
    version = write_version(str(folder / "indexes"), subscription_table(queries))
    tables = Tables(str(folder / "tables"))
    tables.create()
    with session(master=None, remote=remote, settings={}, log=folder / "log") as spark:
        assert all(spark.conf.get(name) == value for name, value in SQL_SETTINGS.items())
        frame = spark.createDataFrame(documents)
        found = matches_of(match_documents(frame, version, mappings=mappings)).collect()
        deliver_batch = partial(
            deliver, frame, version, tables, stream="s", batch=0, at=START, mappings=mappings
        )
        counts = deliver_batch()
        assert counts is not None
        assert counts.documents == len(contents)
        assert deliver_batch() is None
        assert _routed_pairs(spark, folder, frame, queries) == {
            (row.document, row.subscription) for row in found
        }
    rows = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    assert len(rows) == counts.deliveries
    return (
        {(row.document, row.subscription) for row in found},
        {(row["document"], row["subscription"]) for row in rows},
    )


def reason_of_no_session(remote: str, folder: Path) -> str:
    """Why there is no session through a Spark Connect server, after a second."""
    setattr(connection, "CONNECT_SECONDS_MAX", 1)  # noqa: B010 - final, to mypy
    try:
        with session(master=None, remote=remote, settings={}, log=folder / "log"):
            return ""
    except PenstockError as reason:
        return str(reason)


def pythons_of_default_session(folder: Path) -> set[str]:
    """The Python executables of the default session's workers, the first of which is killed.

    A ``python3`` on the path that cannot run must not be used.
    """
    for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
        os.environ.pop(name, None)
    impostor = folder / "python3"
    impostor.write_text("#!/bin/sh\nexit 1\n")
    impostor.chmod(0o755)
    os.environ["PATH"] = f"{folder}{os.pathsep}{os.environ['PATH']}"
    with session(
        master=None,
        remote=None,
        settings={"spark.local.dir": str(folder)},
        log=folder / "log",
    ) as spark:
        found = spark.range(1).mapInArrow(KilledOnce(str(folder / "killed")), "python string")
        return {row.python for row in found.collect()}


class KilledOnce:
    """Returns the Python executable. The first process that runs it is killed instead."""

    def __init__(self, marker: str) -> None:
        self._marker = marker

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not os.path.exists(self._marker):
            open(self._marker, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})
