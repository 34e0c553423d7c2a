"""``penstock run`` as a process of its own, with the processes that it starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Literal, Self, TypeAlias, get_args

from support.fixtures.processes import kill, kill_session, processes_of
from support.fixtures.repository import SOURCE

Victim: TypeAlias = Literal["jvm", "driver", "jvm and driver", "worker", "daemon"]
"""What can be killed: Spark's JVM, the Python process that drives it, both at once, a Python
process that matches, and the one that starts those, with all of them."""

VICTIMS: tuple[Victim, ...] = get_args(Victim)

SURVIVED: tuple[Victim, ...] = ("worker", "daemon")
"""Those whose loss does not end the run."""

END_SECONDS_MAX = 600
"""How long a process may take to end, on a machine with much else to do."""


class PipelineProcess:
    """A run of a workspace's pipeline, in a session of its own.

    Parameters
    ----------
    workspace
        The workspace's folder.
    scratch
        Where Spark keeps its temporary files, and the run its output.
    options
        Options of ``penstock run``.
    """

    def __init__(self, workspace: Path, scratch: Path, *options: str) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self.output = scratch / "output"
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "TMPDIR": str(scratch),
            # On a cluster the driver would else be known by this machine's name.
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        # `penstock run` must see to it by itself that the workers run this Python.
        for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
            environment.pop(name, None)
        with self.output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "penstock", "run", "--workspace", str(workspace)),
                    *(() if "--remote" in options else _own_jvm(scratch)),
                    *options,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )

    @property
    def ended(self) -> bool:
        """Whether the driver has ended."""
        return self._process.poll() is not None

    def said(self) -> str:
        """What it has written."""
        return self.output.read_text(errors="replace")

    def wait(self) -> int:
        """Wait for the driver's end, and give its exit code."""
        return self._process.wait(END_SECONDS_MAX)

    def terminate(self) -> int:
        """Ask it to end, as a service manager does, and give its exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def pids(self, victim: Victim) -> Sequence[int]:
        """The processes to kill, in this order; none where some of them are not there (yet)."""
        if victim == "driver":
            return [] if self.ended else [self._process.pid]
        found = processes_of(self._process.pid)
        jvms = [each for each in found if "org.apache.spark.deploy.SparkSubmit" in each.command]
        if victim == "jvm":
            return [each.pid for each in jvms]
        if victim == "jvm and driver":
            return [*(each.pid for each in jvms), self._process.pid] if jvms else []
        of_jvm = {each.pid for each in jvms}
        pythons = [each for each in found if "pyspark.daemon" in each.command]
        # Workers outlive the process that started them, if they are let.
        workers = [each.pid for each in pythons if each.parent not in of_jvm]
        if victim == "worker":
            return workers
        daemons = [each.pid for each in pythons if each.parent in of_jvm]
        return [*daemons, *workers] if daemons else []

    def kill(self, victim: Victim) -> bool:
        """Kill, and say whether there was anything to kill."""
        pids = self.pids(victim)
        for pid in pids[:1] if victim == "worker" else pids:
            kill(pid)
        return bool(pids)

    def close(self) -> None:
        """End everything that it started and that is still there."""
        kill_session(self._process.pid)
        self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        failure: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def _own_jvm(scratch: Path) -> Sequence[str]:
    """A JVM that is killed leaves its files: they should not stay for good."""
    return (
        *("--conf", f"spark.local.dir={scratch}"),
        *("--conf", f"spark.driver.extraJavaOptions=-Djava.io.tmpdir={scratch}"),
    )
