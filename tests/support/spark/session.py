"""The Spark session of the tests, with the reason for each setting."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.commands import doctor
from penstock.pipeline.session import SETTINGS as COMMAND_SETTINGS
from penstock.pipeline.session import SQL_SETTINGS

REPOSITORY = Path(__file__).resolve().parents[3]

CHECKPOINT_MANAGER = "spark.sql.streaming.checkpointFileManagerClass"

SETTINGS = {
    # Two cores, to expose code that only works in one task.
    "spark.master": "local[2]",
    # Unused, and it takes a port and a second.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The default of 200 partitions would mostly start empty tasks.
    "spark.sql.shuffle.partitions": "2",
    # Listen on the loopback interface only, and resolve no host name.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Small, as several test processes may run in parallel.
    "spark.driver.memory": "1g",
    **SQL_SETTINGS,
    # Tests check failures in Python; the JVM's log of expected ones is noise.
    "spark.log.level": "OFF",
    # As commands do: the default starts 20 processes per micro-batch.
    CHECKPOINT_MANAGER: COMMAND_SETTINGS[CHECKPOINT_MANAGER],
    # An idle stream polls again immediately instead of after 10 ms.
    "spark.sql.streaming.pollingDelay": "1",
}


def require_java() -> None:
    """Skip the test if Java is missing."""
    java = doctor.java()
    if java.state is not doctor.State.OK:
        # CI sets this variable; nothing may be skipped there.
        stop = pytest.fail if os.environ.get("PENSTOCK_REQUIRE_NATIVE") == "1" else pytest.skip
        stop(f"Java: {java.detail}; {java.advice}")


@contextlib.contextmanager
def spark_session(scratch: Path) -> Iterator[SparkSession]:
    """A session with its files in ``scratch``; skips the test if Java is missing."""
    require_java()
    with pytest.MonkeyPatch.context() as environment:
        # Otherwise workers may run another Python.
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        # Workers import test functions by name, from paths that only pytest knows.
        for folder in ("src", "tests", "tests/pipeline"):
            environment.setenv("PYTHONPATH", str(REPOSITORY / folder), prepend=os.pathsep)
        # Otherwise the JVM resolves the host name, and warns.
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName("penstock tests")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.local.dir", str(scratch / "local"))
        session = builder.config("spark.sql.warehouse.dir", str(scratch / "tables")).getOrCreate()
        yield session
        session.stop()
