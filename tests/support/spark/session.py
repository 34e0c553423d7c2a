"""The Spark session of the tests, with a reason beside each setting."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from penstock.cli.commands import doctor

REPOSITORY = Path(__file__).resolve().parents[3]

SETTINGS = {
    # Two cores, so that what only works in one task shows.
    "spark.master": "local[2]",
    # Nobody looks at it, and it takes a port and a second.
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # The default of 200 would mostly start empty tasks.
    "spark.sql.shuffle.partitions": "2",
    # Nothing listens beyond this machine, and no name has to be resolved.
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # Small, since several processes of tests may run side by side.
    "spark.driver.memory": "1g",
    # Times in tables are UTC wherever the tests run.
    "spark.sql.session.timeZone": "UTC",
    # Failures are asserted in Python; the JVM's account of those that are meant is noise.
    "spark.log.level": "OFF",
    # A stream that waits for data looks again at once, not after 10 ms for each empty look.
    "spark.sql.streaming.pollingDelay": "1",
}


def need_java() -> None:
    """Skip the test where Java is missing."""
    java = doctor.java()
    if java.state is not doctor.State.OK:
        # Where the native core is required, in CI, nothing may be left out.
        leave = pytest.fail if os.environ.get("PENSTOCK_REQUIRE_NATIVE") == "1" else pytest.skip
        leave(f"Java: {java.detail}; {java.advice}")


@contextlib.contextmanager
def spark_session(scratch: Path) -> Iterator[SparkSession]:
    """A session that keeps its files in ``scratch``; the test is skipped where Java is missing."""
    need_java()
    with pytest.MonkeyPatch.context() as environment:
        # Without it workers may start another Python than this one.
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        # Workers need what pytest gives to this process only; functions of tests travel by name.
        for folder in ("src", "tests", "tests/pipeline"):
            environment.setenv("PYTHONPATH", str(REPOSITORY / folder), prepend=os.pathsep)
        # What the JVM would otherwise ask the machine's name for, and warn about.
        environment.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        builder = SparkSession.builder.appName("penstock tests")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        builder = builder.config("spark.local.dir", str(scratch / "local"))
        session = builder.config("spark.sql.warehouse.dir", str(scratch / "tables")).getOrCreate()
        yield session
        session.stop()
