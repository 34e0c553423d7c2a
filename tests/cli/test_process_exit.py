"""The exit code of a command does not depend on threads that are still running."""

import subprocess
import sys
from pathlib import Path

import pytest

BUSY = """
import sys, threading
import pyarrow as pa
from deltalake import write_deltalake
from penstock.cli import main

table, *given = sys.argv[1:]
written = threading.Event()

def write():
    while True:
        write_deltalake(table, pa.table({"number": [1]}), mode="append")
        written.set()

threading.Thread(target=write, daemon=True).start()
written.wait()
sys.argv = ["penstock", *given]
main()
"""


@pytest.mark.parametrize(
    ("query", "code", "said"), [("/a", 0, "contains"), ("/a[", 3, "query.syntax")]
)
def test_a_thread_in_native_code_does_not_crash_the_exit(
    tmp_path: Path, query: str, code: int, said: str
) -> None:
    command = [sys.executable, "-c", BUSY, f"{tmp_path}/table", "relate", "/a", query]
    ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert ended.returncode == code, ended.stderr
    assert said in ended.stdout + ended.stderr
