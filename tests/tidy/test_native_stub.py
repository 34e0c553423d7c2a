"""The hand-written description of the native core agrees with the module."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from support.fixtures.repository import ROOT


@pytest.mark.skipif(
    importlib.util.find_spec("penstock._native") is None, reason="the native core is not built"
)
def test_the_stub_describes_the_module(tmp_path: Path) -> None:
    # PyO3 lists every name in __all__ by itself; repeating the list would only double the stub.
    allowed = tmp_path / "allowed.txt"
    allowed.write_text("penstock\\._native\\.__all__\n", encoding="utf-8")
    check = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "--concise"),
            *("--allowlist", str(allowed), "penstock._native"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert check.returncode == 0, check.stdout + check.stderr
