"""The session that ``penstock run`` makes; the library takes the session it is given."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from penstock.errors import error

Session: TypeAlias = SparkSession
Rows: TypeAlias = DataFrame
"""For those who use what the pipeline gives without importing pyspark."""

JVM_LOST: Final = (Py4JError, ConnectionError)
"""How it shows that a classic session's JVM is gone: to the call that was under way, and to those
that come later."""

JAVA_FAILURES: Final = (PySparkException, Py4JJavaError)
"""What is thrown in the JVM, or by a server: Spark's own classes where pyspark knows them."""

DEFAULT_MASTER: Final = "local[*,4]"
"""All cores of this machine, and four attempts a task: with ``local[*]`` one lost Python worker
would end the run."""

SQL_SETTINGS: Final = {
    # A batch's matches can be a thousand times its rows: bounded in bytes, not only in rows.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # Tables are in UTC wherever they are written and read.
    "spark.sql.session.timeZone": "UTC",
}
"""What every session sets, also one with a Spark Connect server."""

SETTINGS: Final = {
    # The workers keep their mapped indexes from task to task.
    "spark.python.worker.reuse": "true",
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

    Raises
    ------
    PipelineFailure
        ``pipeline.failed``: there is no Java, the master or server cannot be reached, ...
    """
    with _telling_failures():
        made = _made(master, remote, settings, log)
    try:
        yield made
    finally:
        # A JVM that is gone cannot be stopped, and whoever used it knows that it is.
        with contextlib.suppress(*JVM_LOST):
            made.stop()


def _made(
    master: str | None, remote: str | None, settings: dict[str, str], log: Path
) -> SparkSession:
    builder = SparkSession.builder.appName("penstock")
    if remote is not None:
        # The others are the server's own: a session cannot change them.
        for name, value in {**SQL_SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        return builder.remote(remote).getOrCreate()
    # Else workers may start another Python, without Penstock or of another version.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    where = master or DEFAULT_MASTER
    local = _LOCAL if where.startswith("local") else {}
    for name, value in {**SQL_SETTINGS, **SETTINGS, **local, **settings}.items():
        builder = builder.config(name, value)
    with _stderr_to(log):
        return builder.master(where).getOrCreate()


@contextlib.contextmanager
def _telling_failures() -> Iterator[None]:
    try:
        yield
    except (*JAVA_FAILURES, *JVM_LOST) as failure:
        reason = what_java_said(failure).partition("\n")[0]
        raise error("pipeline.failed", f"Spark did not start: {reason}") from failure


def what_java_said(failure: Exception) -> str:
    """The message of a failure, without the line that only names the call."""
    text = str(failure)
    if isinstance(failure, Py4JJavaError):
        return text.partition("\n")[2].removeprefix(": ")
    return text


_LOCAL: Final = {
    # Nothing listens beyond this machine, and no name has to be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A micro-batch is seconds of work: 200 partitions would mostly be empty tasks.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
}
"""On one machine; a cluster's own settings know better how large it is."""


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
