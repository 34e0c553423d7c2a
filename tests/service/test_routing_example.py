"""The example starts five routers, kills one, and finds that nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.fixtures.repository import ROOT


def test_the_example_loses_nothing(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/routing/run.py", tmp_path / "routing"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "(exit code -9)" in done.stdout
    assert "ada at south, /alert: 40 documents: all, once, in order" in done.stdout
    assert "bob at west, /alert[severity = 'severe']: 10 documents: all" in done.stdout
    assert "eve at east, //area[. = 'coast']: 13 documents: all" in done.stdout
    assert done.stdout.endswith("nothing was lost\n")
