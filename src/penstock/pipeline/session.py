"""Creates the Spark session of commands. Library functions take a session as an argument."""

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
"""Type names for packages that must not import pyspark."""

JVM_LOST: Final = (Py4JError, ConnectionError)
"""Raised if the JVM of a classic session is gone: by the call in progress, and by later calls."""

JAVA_FAILURES: Final = (PySparkException, Py4JJavaError)
"""Exceptions of the JVM or a Connect server; pyspark converts those it knows."""

DEFAULT_MASTER: Final = "local[*,4]"
"""All cores of this machine, and four attempts per task. With ``local[*]`` tasks are not retried,
and one lost Python worker would end the run."""

SQL_SETTINGS: Final = {
    # A batch may have a thousand times as many matches as rows, so bound the bytes too.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # Timestamps are UTC, wherever tables are written and read.
    "spark.sql.session.timeZone": "UTC",
}
"""Settings of all sessions, including Spark Connect."""

SETTINGS: Final = {
    # Reused workers keep their index versions open.
    "spark.python.worker.reuse": "true",
    # Commands show progress themselves.
    "spark.ui.showConsoleProgress": "false",
    "spark.ui.enabled": "false",
    "spark.log.level": "WARN",
}
"""Settings of classic sessions; ``--conf`` overrides them."""


@contextlib.contextmanager
def session(
    *,
    master: str | None,
    remote: str | None,
    settings: dict[str, str],
    log: Path,
) -> Iterator[SparkSession]:
    """A session that is stopped when the block ends.

    Parameters
    ----------
    master
        The master of a classic session; by default this machine.
    remote
        The address of a Spark Connect server; excludes ``master``.
    settings
        Spark settings that override the defaults.
    log
        The file that the JVM's stderr is appended to.

    Raises
    ------
    PipelineFailure
        ``pipeline.failed``: Java is missing, the master or server is unreachable, ...
    """
    with _translate_failures():
        created = _create(master, remote, settings, log)
    try:
        yield created
    finally:
        # If the JVM is gone, an earlier call has reported it.
        with contextlib.suppress(*JVM_LOST):
            created.stop()


def _create(
    master: str | None, remote: str | None, settings: dict[str, str], log: Path
) -> SparkSession:
    builder = SparkSession.builder.appName("penstock")
    if remote is not None:
        # A client cannot change the server's other settings.
        for name, value in {**SQL_SETTINGS, **settings}.items():
            builder = builder.config(name, value)
        return builder.remote(remote).getOrCreate()
    # Otherwise workers may run another Python, without Penstock or of another version.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = master or DEFAULT_MASTER
    local = _LOCAL_SETTINGS if master.startswith("local") else {}
    for name, value in {**SQL_SETTINGS, **SETTINGS, **local, **settings}.items():
        builder = builder.config(name, value)
    with _stderr_to(log):
        return builder.master(master).getOrCreate()


@contextlib.contextmanager
def _translate_failures() -> Iterator[None]:
    try:
        yield
    except (*JAVA_FAILURES, *JVM_LOST) as failure:
        reason = java_message(failure).partition("\n")[0]
        raise error("pipeline.failed", f"Spark did not start: {reason}") from failure


def java_message(failure: Exception) -> str:
    """The message of a failure, without Py4J's line about the failed call."""
    text = str(failure)
    if isinstance(failure, Py4JJavaError):
        return text.partition("\n")[2].removeprefix(": ")
    return text


_LOCAL_SETTINGS: Final = {
    # Listen on the loopback interface only, and resolve no host name.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # The default of 200 partitions would mostly start empty tasks.
    "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
}
"""Settings of sessions on one machine; on a cluster its own defaults apply."""


@contextlib.contextmanager
def _stderr_to(log: Path) -> Iterator[None]:
    """Redirect the stderr of child processes that are started in the block to a file."""
    sys.stderr.flush()
    saved = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
