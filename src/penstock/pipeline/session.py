"""Creates the Spark session of commands. Library functions take a session as an argument."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from penstock.errors import PenstockError, error

Session: TypeAlias = SparkSession
Rows: TypeAlias = DataFrame
Stream: TypeAlias = StreamingQuery
"""Type names for packages that must not import pyspark."""

JVM_LOST: Final = (Py4JError, ConnectionError)
"""Raised if the JVM of a classic session is gone: by the call in progress, and by later calls."""

JAVA_FAILURES: Final = (PySparkException, Py4JJavaError)
"""Exceptions of the JVM or a Connect server; pyspark converts those it knows."""

_WORKER_START_FAILURE: Final = "Python worker failed to connect back"
"""Message of a job whose Python workers did not start in time, as on a busy machine."""

_WORKER_LOSS: Final = ("Python worker exited unexpectedly", "ExecutorLostFailure")
"""Messages of a job that failed because the processes of its tasks ended."""

DEFAULT_MASTER: Final = "local[*,4]"
"""All cores of this machine, and four attempts per task. With ``local[*]`` tasks are not retried,
and one lost Python worker would end the run."""

CONNECT_PORT: Final = 15002
"""The default port of a Spark Connect server."""

CONNECT_SECONDS_MAX: Final = 30
"""Seconds to wait for the connection to a Spark Connect server, and then for its first answer."""

SQL_SETTINGS: Final = {
    # A batch may have a thousand times as many matches as rows, so bound the bytes too.
    "spark.sql.execution.arrow.maxBytesPerBatch": "4m",
    # Timestamps are UTC, wherever tables are written and read.
    "spark.sql.session.timeZone": "UTC",
    # A process that is killed while it writes the first offset leaves a temporary file. Spark would
    # then refuse to start the stream for ever, as files without an offset may be of another one.
    "spark.sql.streaming.verifyCheckpointDirectoryEmptyOnStart": "false",
}
"""Settings of all sessions, including Spark Connect."""

SETTINGS: Final = {
    # Reused workers keep their index versions open.
    "spark.python.worker.reuse": "true",
    # The default class starts 20 processes per micro-batch, `chmod` and `readlink`, if a checkpoint
    # is on a local file system: up to 0.2 s. This one starts 4.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
    ),
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
        ``pipeline.unreachable``: the Connect server does not answer in time; ``pipeline.failed``:
        Java is missing, the master is unreachable, ...
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
        return _connect(builder.remote(remote), remote)
    # Otherwise workers may run another Python, without Penstock or of another version.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    master = master or DEFAULT_MASTER
    local = _LOCAL_SETTINGS if master.startswith("local") else {}
    for name, value in {**SQL_SETTINGS, **SETTINGS, **local, **settings}.items():
        builder = builder.config(name, value)
    with _stderr_to(log):
        return builder.master(master).getOrCreate()


def _connect(builder: SparkSession.Builder, remote: str) -> SparkSession:
    """A session of a Spark Connect server.

    The client itself retries for ten minutes, and cannot be interrupted meanwhile.
    """
    address = urlsplit(remote)
    host, port = address.hostname or "", address.port or CONNECT_PORT
    try:
        socket.create_connection((host, port), CONNECT_SECONDS_MAX).close()
    except OSError as failure:
        raise _unreachable(remote, failure.strerror or str(failure)) from failure
    connected: list[SparkSession | Exception] = []

    def connect() -> None:
        try:
            session = builder.getOrCreate()
            session.conf.get("spark.sql.session.timeZone")  # the first answer of the server
            connected.append(session)
        except Exception as failure:
            connected.append(failure)

    thread = threading.Thread(target=connect, name="spark-connect", daemon=True)
    thread.start()
    thread.join(CONNECT_SECONDS_MAX)
    if not connected:
        raise _unreachable(remote, f"no answer in {CONNECT_SECONDS_MAX} seconds")
    (result,) = connected
    if isinstance(result, Exception):
        raise result
    return result


def _unreachable(remote: str, reason: str) -> PenstockError:
    return error("pipeline.unreachable", f"the Spark Connect server {remote}: {reason}")


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


def is_worker_loss(failure: Exception) -> bool:
    """Whether a job failed because its worker processes ended, not because of an exception."""
    return any(message in str(failure) for message in _WORKER_LOSS)


def is_worker_start_failure(failure: Exception) -> bool:
    """Whether a job failed because its worker processes did not start in time."""
    return _WORKER_START_FAILURE in str(failure)


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
    """Redirect the stderr of child processes that are started in the block to a file.

    The stderr of this process still goes where it went, so that progress stays visible.
    """
    sys.stderr.flush()
    saved = os.dup(2)
    own = sys.stderr
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    sys.stderr = os.fdopen(
        os.dup(saved), "w", buffering=1, encoding=own.encoding, errors=own.errors
    )
    try:
        yield
    finally:
        sys.stderr.close()
        sys.stderr = own
        os.dup2(saved, 2)
        os.close(saved)
