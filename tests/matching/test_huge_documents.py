"""A document of any size is matched in little memory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from native_engines import needs_native

from penstock.lab.shipped import shipped_schema
from penstock.lab.workload import huge_document

DOCUMENT_BYTES = 500_000_000
MEMORY_BYTES_MAX = 200_000_000

# Not by getrusage: what that tells of a child begins with the size of its parent.
MATCH_AND_MEASURE = """
import sys
from pathlib import Path
import penstock
index = penstock.SubscriptionIndex(engine="shared")
index.add_many(
    ["root", "last", "late", "nowhere", "value", "count"],
    ["/*", "/*/*[last()]", "//*[not(*)][last()]", "//nowhere", "//*[. = 'x']", "/*/*[2]"],
)
matches = index.matcher().match_file(sys.argv[1])
matches.raise_for_errors()
lines = Path("/proc/self/status").read_text().splitlines()
(peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
print(int(peak) * 1024)
print(*sorted(matches))
"""


@pytest.fixture(scope="module")
def huge_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("huge") / "document.xml"
    with open(path, "wb") as file:
        file.writelines(huge_document(shipped_schema("news"), DOCUMENT_BYTES))
    yield path
    path.unlink()


@needs_native
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_half_a_gigabyte_takes_less_than_200_megabytes(huge_file: Path) -> None:
    assert huge_file.stat().st_size >= DOCUMENT_BYTES
    done = subprocess.run(
        [sys.executable, "-c", MATCH_AND_MEASURE, str(huge_file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    memory_bytes, ids = done.stdout.splitlines()
    assert {"root", "last", "late", "count"} <= set(ids.split())
    assert "nowhere" not in ids.split()
    assert int(memory_bytes) < MEMORY_BYTES_MAX
