"""How much memory work takes, measured in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from penstock.native import native

measures_memory = [
    pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc"),
    pytest.mark.skipif(native is None, reason="the reference holds documents whole"),
]

PREAMBLE = '''
import json, sys
from collections.abc import Iterator
from pathlib import Path

def memory_peak() -> int:
    """Bytes that this process has held at most so far."""
    # Not by getrusage: what that tells of a child begins with the size of its parent.
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
    return int(peak) * 1024

def repeated(begin: str, repeat: str, end: str, size: int) -> Iterator[bytes]:
    """A document of about so many bytes, in blocks."""
    block = repeat.encode() * (65536 // len(repeat.encode()))
    yield begin.encode()
    for _ in range(size // len(block)):
        yield block
    yield end.encode()

def tell(**found: object) -> None:
    print(json.dumps(found))

given = json.loads(sys.argv[1])
'''


def told_by(program: str, **given: object) -> dict[str, Any]:
    """What a program tells that runs alone, with ``memory_peak`` and the like at hand."""
    done = subprocess.run(
        [sys.executable, "-c", PREAMBLE + program, json.dumps(given)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told
