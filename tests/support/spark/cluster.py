"""A Spark standalone cluster on this machine: a master and workers, one process each.

The pip package of pyspark lacks the start scripts, but has ``spark-class`` to run their classes.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark

from support.faults.sitecustomize import FOLDER as FAULTS
from support.fixtures.processes import kill_session
from support.fixtures.repository import SOURCE, TESTS
from support.spark.jvm_options import JVM_OPTIONS

SPARK_HOME = Path(pyspark.__file__).parent

START_SECONDS_MAX = 600
"""Seconds until a process must be ready; generous for busy machines."""

EXECUTOR_SETTINGS = (
    *("--conf", "spark.executor.memory=512m"),
    *("--conf", f"spark.executor.extraJavaOptions={JVM_OPTIONS}"),
)


class SparkProcess:
    """A JVM that runs one of Spark's main classes, in its own process session."""

    def __init__(self, folder: Path, command: Sequence[str], memory: str) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._log = folder / "log"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment(folder, memory),
                start_new_session=True,
            )

    def wait_for_output(self, pattern: str) -> re.Match[str]:
        """Wait until the log matches a regular expression."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while True:
            text = self._log.read_text(errors="replace")
            found = re.search(pattern, text)
            if found:
                return found
            assert self._process.poll() is None, f"the process ended:\n{text}"
            assert time.monotonic() < deadline, f"no output matches {pattern}:\n{text}"
            time.sleep(0.05)

    def close(self) -> None:
        """Kill the process and all processes that it started."""
        kill_session(self._process.pid)
        self._process.wait()


def environment(folder: Path, memory: str) -> dict[str, str]:
    """The environment of a cluster's processes: this Python, with Penstock, on the loopback."""
    return {
        **os.environ,
        "SPARK_HOME": str(SPARK_HOME),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        # Applies to the Connect server too, which ignores spark.driver.memory.
        "SPARK_DAEMON_MEMORY": memory,
        "SPARK_DAEMON_JAVA_OPTS": f"{JVM_OPTIONS} -Djava.io.tmpdir={folder}",
        "PYSPARK_PYTHON": sys.executable,
        # On a real cluster Penstock is installed on each machine. Documents can inject faults.
        "PYTHONPATH": os.pathsep.join([str(FAULTS), str(SOURCE), str(TESTS)]),
        "TMPDIR": str(folder),
    }


class SparkCluster:
    """A master and two workers with one core each."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started = 0
        self._workers: list[SparkProcess] = []
        self._others: list[SparkProcess] = []
        try:
            master = self._start(
                "org.apache.spark.deploy.master.Master",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
            )
            self._others.append(master)
            self.master = master.wait_for_output(r"Starting Spark master at (spark://\S+)")[1]
            self.start_workers(2)
        except BaseException:
            self.close()
            raise

    def start_workers(self, count: int) -> None:
        """Start workers, and wait until they are registered with the master."""
        started = [
            self._start(
                "org.apache.spark.deploy.worker.Worker",
                *("--host", "127.0.0.1", "--port", "0", "--webui-port", "0"),
                *("--cores", "1", "--memory", "1g"),
                *("--work-dir", str(self._folder / f"work-{self._started}"), self.master),
            )
            for _ in range(count)
        ]
        self._workers += started
        for worker in started:
            worker.wait_for_output("Successfully registered with master")

    def kill_worker(self) -> None:
        """Kill a worker with its executor and Python processes."""
        self._workers.pop().close()

    def start_connect_server(self) -> str:
        """Start a Spark Connect server on this cluster; returns its address."""
        server = self._start(
            "org.apache.spark.deploy.SparkSubmit",
            *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
            *("--master", self.master),
            *("--conf", "spark.connect.grpc.binding.port=0"),
            *("--conf", "spark.connect.grpc.binding.address=127.0.0.1"),
            *("--conf", "spark.ui.enabled=false"),
            *("--conf", "spark.driver.host=127.0.0.1"),
            *EXECUTOR_SETTINGS,
            "spark-internal",
            memory="1g",
        )
        self._others.append(server)
        port = server.wait_for_output(r"Spark Connect server started at: \S*:(\d+)")[1]
        return f"sc://127.0.0.1:{port}"

    def _start(self, *command: str, memory: str = "256m") -> SparkProcess:
        self._started += 1
        return SparkProcess(self._folder / f"process-{self._started}", command, memory)

    def close(self) -> None:
        """Kill all processes of the cluster."""
        for process in [*self._workers, *self._others]:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
