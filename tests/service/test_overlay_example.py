"""The example starts twenty peers, kills seven, and draws the healed tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.fixtures.repository import ROOT


def test_the_example_heals(tmp_path: Path) -> None:
    folder = tmp_path / "overlay"
    done = subprocess.run(
        [sys.executable, ROOT / "examples/overlay/run.py", folder],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 13 survivors have all their documents, once and in order" in done.stdout
    assert (folder / "before.svg").read_text().count(": overhead ") == 21
    assert (folder / "healed.svg").read_text().count(": overhead ") == 14
