"""The session that ``penstock run`` makes; the library takes the session it is given."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession

Session: TypeAlias = SparkSession
Rows: TypeAlias = DataFrame
"""For those who use what the pipeline gives without importing pyspark."""

JVM_LOST: Final = (Py4JError, ConnectionError)
"""How it shows that a classic session's JVM is gone: to the call that was under way, and to those
that come later."""

DEFAULT_MASTER: Final = "local[*,4]"
"""All cores of this machine, and four attempts a task: with ``local[*]`` one lost Python worker
would end the run."""

SETTINGS: Final = {
    # A batch's matches can be a thousand times its rows: bounded in bytes, not only in rows.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # The workers keep their mapped indexes from task to task.
    "spark.python.worker.reuse": "true",
    # Tables are in UTC wherever they are written and read.
    "spark.sql.session.timeZone": "UTC",
    # A micro-batch is seconds of work: 200 partitions would mostly be empty tasks.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
    # The commands show the progress themselves.
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
}
"""Why each differs from Spark's default is said beside it; ``--conf`` overrides them."""


@contextlib.contextmanager
def session(
    *,
    master: str | None,
    remote: str | None,
    settings: dict[str, str],
    log: Path,
) -> Iterator[SparkSession]:
    """A session for one run, stopped at its end.

    Parameters
    ----------
    master
        A classic session's master; by default this machine.
    remote
        A Spark Connect server's address; then there is no master.
    settings
        Spark's settings, over the defaults.
    log
        Where the JVM's own messages go.
    """
    builder = SparkSession.builder.appName("penstock")
    if remote is not None:
        made = builder.remote(remote).getOrCreate()
    else:
        # Else workers may start another Python, without Penstock or of another version.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        local = {} if master is not None else _LOOPBACK
        for name, value in {**SETTINGS, **local, **settings}.items():
            builder = builder.config(name, value)
        with _stderr_to(log):
            made = builder.master(master or DEFAULT_MASTER).getOrCreate()
    try:
        yield made
    finally:
        # A JVM that is gone cannot be stopped, and whoever used it knows that it is.
        with contextlib.suppress(*JVM_LOST):
            made.stop()


_LOOPBACK: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
}
"""On one machine nothing listens beyond it, and no name has to be resolved."""


@contextlib.contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Let child processes started here write their stderr to a file."""
    sys.stderr.flush()
    kept = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
