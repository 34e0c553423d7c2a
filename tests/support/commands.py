"""Runs the commands as people do, in a process of their own, or in this one where that will do."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from repository import ROOT
from typer.testing import CliRunner

from penstock.cli.app import app


@dataclass(frozen=True, slots=True)
class Done:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The JSON Lines on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]


def penstock(*arguments: str) -> Done:
    """Runs a command in this process; what it did not expect is raised."""
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    return Done(result.exit_code, result.stdout, result.stderr)


def penstock_process(*arguments: str, **environment: str) -> Done:
    """Runs a command in a process of its own, with pipes for its streams."""
    result = subprocess.run(
        [sys.executable, "-m", "penstock", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), **environment},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return Done(result.returncode, result.stdout, result.stderr)
