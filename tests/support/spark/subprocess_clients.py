"""What runs against a Spark of its own, in a process of its own: a process has one session."""

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


def apart(function: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
    """Call a function in a new process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, given, dict(named))


def match_and_deliver(
    remote: str, folder: Path, contents: list[bytes], queries: Mapping[str, str]
) -> tuple[Pairs, Pairs]:
    """Matches, and deliveries, of one batch by a Spark Connect server."""
    documents = document_table(contents, schema="news")
    mappings = mappings_at(folder, {"news": UNCHANGED})
    version = write_version(str(folder / "indexes"), subscription_table(queries))
    tables = Tables(str(folder / "tables"))
    tables.create()
    with session(master=None, remote=remote, settings={}, log=folder / "log") as spark:
        assert all(spark.conf.get(name) == value for name, value in SQL_SETTINGS.items())
        given = spark.createDataFrame(documents)
        found = matches_of(match_documents(given, version, mappings=mappings)).collect()
        of_batch = partial(
            deliver, given, version, tables, stream="s", batch=0, at=START, mappings=mappings
        )
        counts = of_batch()
        assert counts is not None
        assert counts.documents == len(contents)
        assert of_batch() is None
    rows = DeltaTable(tables.deliveries).to_pyarrow_table().to_pylist()
    assert len(rows) == counts.deliveries
    return (
        {(row.document, row.subscription) for row in found},
        {(row["document"], row["subscription"]) for row in rows},
    )


def pythons_of_default_session(folder: Path) -> set[str]:
    """The Pythons of the workers that the default session starts, of which one is killed.

    There is another ``python3`` on the path, which is no Python.
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
    """Tells which Python it is run by; the process that is first asked is killed instead."""

    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if not os.path.exists(self._mark):
            open(self._mark, "x").close()
            os.kill(os.getpid(), signal.SIGKILL)
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [sys.executable]})
