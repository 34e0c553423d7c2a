"""The example: two people edit a catalogue offline, and the one who loses is informed why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.contracts.native_engines import needs_native
from support.fixtures.repository import ROOT


@needs_native
def test_both_have_the_same_and_the_loser_is_informed(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "examples/sync/run.py", tmp_path / "sync"],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "set /catalogue/product[0]/price/text() from '29.90' to '27.50'" in done.stdout
    assert "both have the same file\nada knows what became of her changes\n" in done.stdout
    assert done.stderr == "stopped\n"
    ada, bob = (tmp_path / "sync" / name / "catalogue.xml" for name in ("ada", "bob"))
    assert ada.read_bytes() == bob.read_bytes()
    text = ada.read_text(encoding="utf-8")
    assert "Kettle" not in text
    assert "<price>4.90</price>" in text
