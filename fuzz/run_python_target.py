"""Runs a fuzz target of a Python parser under Atheris: ``run_python_target.py TARGET [OPTION]...``.

The options and the corpus folders are libFuzzer's.
"""

from __future__ import annotations

import importlib
import sys
import time
from typing import Any

INSTRUMENTED = ("penstock", "gzip", "json", "tarfile", "zipfile")
"""The packages whose coverage guides the fuzzer; ``xmlschema`` would become ten times slower."""

CPU_SECONDS_MAX = 5.0
"""Processor time of one input; more is a finding. Unlike libFuzzer's time-out, it does not depend
on what else the machine does."""


def main() -> None:
    """Instrument the packages and fuzz the target."""
    # Not installed by `make setup`, so type checkers do not find it.
    atheris: Any = importlib.import_module("atheris")
    name = sys.argv.pop(1)
    with atheris.instrument_imports(include=list(INSTRUMENTED)):
        target = importlib.import_module(f"python_targets.{name}")

    def run_input(data: bytes) -> None:
        start = time.process_time()
        target.run_input(data)
        seconds = time.process_time() - start
        if seconds > CPU_SECONDS_MAX:
            raise TimeoutError(f"one input took {seconds:.1f} s of processor time")

    atheris.Setup(sys.argv, run_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
