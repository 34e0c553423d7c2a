"""Tests that need data from outside the repository are reported when they cannot run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from penstock.native import native
from support.fixtures.repository import ROOT
from support.fixtures.shared_data import DATA_SETS

TESTS = [
    "tests/documents/test_reader_w3c.py",
    "tests/documents/test_reader_real_documents.py",
    "tests/documents/test_records_real_documents.py",
]


def test_the_summary_names_missing_data_and_how_to_get_it(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--quiet", "-p", "no:cacheprovider", *TESTS],
        env={**os.environ, "PENSTOCK_SHARED_DATA": str(tmp_path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    first = lines.index("not run: 2 tests on XMark auctions")
    assert lines[first + 1] == f"    get {DATA_SETS['xmark'].source}"
    assert lines[first + 2] == f"    and store it as {tmp_path / 'xmark'}"
    # The reference reader is not tested on the W3C suite, with or without the data.
    w3c_line = "not run: 4 tests on the W3C XML conformance test suite"
    assert (w3c_line in lines) == (native is not None)
    assert lines[-1].startswith("9 skipped")
