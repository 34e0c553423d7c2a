"""The options of the JVMs that the tests start: most live for seconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SHORT_LIVED = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The optimising compiler would take a third of their time."""

KEPT_CLASSES = Path(sys.prefix, "spark-classes.jsa")
"""Where `make test` keeps Spark's classes as a JVM has them once they are read."""

JVM_OPTIONS = (
    # What is of another Spark or JVM is passed over, and nothing said.
    f'{SHORT_LIVED} -XX:SharedArchiveFile="{KEPT_CLASSES}" -Xlog:disable'
    if KEPT_CLASSES.exists()
    else SHORT_LIVED
)


def set_jvm_options() -> None:
    """Let the JVMs that are started from here have them; executors need a setting of Spark's."""
    for variable in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(variable, JVM_OPTIONS)
