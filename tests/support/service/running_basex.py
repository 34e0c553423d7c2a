"""A BaseX server on a free port of this machine; tests that need it are skipped without it.

With ``PENSTOCK_REQUIRE_BASEX=1``, as in CI, they fail instead.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from penstock.workspace.basex_session import BasexServer
from support.spark.jvm_options import FAST_START_OPTIONS

COMMAND = shutil.which("basexserver")
MISSING = "BaseX is not installed (Debian package basex)"


def is_skipped(command: str | None, environment: Mapping[str, str]) -> bool:
    """Whether tests that need BaseX are skipped."""
    return command is None and environment.get("PENSTOCK_REQUIRE_BASEX") != "1"


needs_basex = pytest.mark.skipif(is_skipped(COMMAND, os.environ), reason=MISSING)

_ATTEMPTS = 5


class RunningBasex:
    """A process of BaseX whose databases are in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.start()

    def start(self) -> None:
        """Starts it, on another port than before."""
        for _ in range(_ATTEMPTS):
            # BaseX cannot report the port that it is given, so another process may take this one.
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            if self._is_started(port):
                self.server = BasexServer(port=port, password="admin")
                return
        raise AssertionError("BaseX does not start")

    def _is_started(self, port: int) -> bool:
        options = {"path": self.folder, "DBPATH": self.folder / "data", "LOG": "false"}
        settings = " ".join(f"-Dorg.basex.{name}={value}" for name, value in options.items())
        assert COMMAND is not None, MISSING
        self._process = subprocess.Popen(
            [COMMAND, "-n127.0.0.1", f"-p{port}", "-z"],
            env={**os.environ, "JAVA_ARGS": f"{FAST_START_OPTIONS} {settings}"},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self._process.stdout is not None
        if any("was started" in line for line in self._process.stdout):
            return True
        self.kill()
        return False

    def kill(self) -> None:
        """Ends it as a power failure would, except that the system has what was written."""
        self._process.kill()
        assert self._process.stdout is not None
        self._process.stdout.close()
        self._process.wait()

    def restart(self) -> None:
        """Kills it and starts it again, on another port."""
        self.kill()
        self.start()
