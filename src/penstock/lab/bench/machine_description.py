"""A description of the machine behind a measurement, without anything that identifies it."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from penstock.native import native


@dataclass(frozen=True, slots=True)
class Machine:
    """The properties of a machine that affect speed."""

    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    rustc: str
    build_profile: str

    def __str__(self) -> str:
        return (
            f"{self.cpu}, {self.cores} cores, {self.memory_gb:.0f} GB; {self.system};"
            f" Python {self.python}; {self.rustc}, {self.build_profile} build"
        )


def this_machine() -> Machine:
    """Describe the current machine."""
    return Machine(
        cpu=_cpu_model(),
        cores=os.cpu_count() or 1,
        memory_gb=_memory_bytes() / 1e9,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        rustc=_rustc_version(),
        build_profile="no native" if native is None else native.BUILD_PROFILE,
    )


def _cpu_model() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor() or platform.machine()
    models = (line.partition(":")[2] for line in text.splitlines() if line.startswith("model name"))
    return " ".join(next(models, platform.machine()).split())


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return 0


def _rustc_version() -> str:
    rustc = shutil.which("rustc")
    if rustc is None:
        return "rustc unknown"
    done = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[:2]) or "rustc unknown"
