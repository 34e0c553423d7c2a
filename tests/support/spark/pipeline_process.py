"""``penstock run`` as a subprocess, with the processes that it starts."""

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
"""What can be killed: the JVM, the Python driver, both at once, one Python worker, or all workers
together with the daemon that forks them."""

VICTIMS: tuple[Victim, ...] = get_args(Victim)

SURVIVED: tuple[Victim, ...] = ("worker", "daemon")
"""Victims whose loss does not end the run."""

END_SECONDS_MAX = 600
"""Seconds until a process must end; generous for busy machines."""


class PipelineProcess:
    """A run of a workspace's pipeline, in its own process session.

    Parameters
    ----------
    workspace
        The workspace's folder.
    scratch
        The folder of Spark's temporary files and the output.
    options
        Options of ``penstock run``.
    """

    def __init__(self, workspace: Path, scratch: Path, *options: str) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._output = scratch / "output"
        environment = {
            **os.environ,
            "PYTHONPATH": str(SOURCE),
            "TMPDIR": str(scratch),
            # Otherwise the driver announces itself to a cluster by host name.
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        # `penstock run` itself must make the workers run this Python.
        for name in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"):
            environment.pop(name, None)
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "penstock", "run", "--workspace", str(workspace)),
                    *(() if "--remote" in options else _jvm_options(scratch)),
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

    def output(self) -> str:
        """The output so far."""
        return self._output.read_text(errors="replace")

    def wait(self) -> int:
        """Wait until the driver ends; returns its exit code."""
        return self._process.wait(END_SECONDS_MAX)

    def terminate(self) -> int:
        """Send SIGTERM, as a service manager does; returns the exit code."""
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def interrupt(self) -> int:
        """Send SIGINT to all processes of the group, as Ctrl-C does; returns the exit code."""
        os.killpg(self._process.pid, signal.SIGINT)
        return self.wait()

    def pids(self, victim: Victim) -> Sequence[int]:
        """The processes to kill, in this order; none if some of them do not exist (yet)."""
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
        # Workers may outlive the daemon, and then have another parent.
        workers = [each.pid for each in pythons if each.parent not in of_jvm]
        if victim == "worker":
            return workers
        daemons = [each.pid for each in pythons if each.parent in of_jvm]
        return [*daemons, *workers] if daemons else []

    def kill(self, victim: Victim) -> bool:
        """Kill the victim; whether it existed."""
        pids = self.pids(victim)
        for pid in pids[:1] if victim == "worker" else pids:
            kill(pid)
        return bool(pids)

    def close(self) -> None:
        """Kill all remaining processes of the session."""
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


def _jvm_options(scratch: Path) -> Sequence[str]:
    """Puts temporary files into ``scratch``, as a killed JVM leaves them behind."""
    return (
        *("--conf", f"spark.local.dir={scratch}"),
        *("--conf", f"spark.driver.extraJavaOptions=-Djava.io.tmpdir={scratch}"),
    )
