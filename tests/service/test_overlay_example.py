"""The example starts peers, kills some, and draws the healed tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.fixtures.repository import ROOT


def test_the_example_heals(tmp_path: Path) -> None:
    folder = tmp_path / "overlay"
    done = subprocess.run(
        [sys.executable, ROOT / "examples/overlay/run.py", folder, "--peers=4", "--kills=1"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all 3 survivors have all their documents, once and in order" in done.stdout
    assert (folder / "before.svg").read_text().count(": overhead ") == 5
    assert (folder / "healed.svg").read_text().count(": overhead ") == 4
