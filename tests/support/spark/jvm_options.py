"""Options of the JVMs that the tests start, most of which run for seconds."""

from __future__ import annotations

import os
import sys
from pathlib import Path

FAST_START_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""The optimising compiler would take a third of the time."""

CLASS_DATA_ARCHIVE = Path(sys.prefix, "spark-classes.jsa")
"""The class data archive that `make test` writes."""

JVM_OPTIONS = (
    # The JVM silently ignores an archive of another Spark or JVM version.
    f'{FAST_START_OPTIONS} -XX:SharedArchiveFile="{CLASS_DATA_ARCHIVE}" -Xlog:disable'
    if CLASS_DATA_ARCHIVE.exists()
    else FAST_START_OPTIONS
)


def set_jvm_options() -> None:
    """Set the options of child JVMs. Executors need ``spark.executor.extraJavaOptions`` too."""
    for variable in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
        os.environ.setdefault(variable, JVM_OPTIONS)
