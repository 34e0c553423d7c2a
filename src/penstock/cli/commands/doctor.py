"""``penstock doctor``: checks the installation and suggests fixes."""

from __future__ import annotations

import importlib
import os
import re
import sys
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.console import out, print_json, print_table
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import JsonOption

JAVA_VERSION_MIN = 17
"""The oldest Java that Spark 4 runs on."""

JAVA_TIMEOUT_SECONDS = 10
"""How long ``java -version`` may take before it is considered broken."""

BUILD_LOG = "native-build.log"
"""Log of the native build that ``make setup`` writes, relative to ``sys.prefix``."""

ERROR_LINES_MAX = 20
"""How many lines of compiler errors to print; the log has the rest."""

_ERROR_IN_BLOCK = re.compile(r"^[ ]*error(\[|:).*", re.MULTILINE | re.DOTALL)


class State(StrEnum):
    """State of a component."""

    OK = "ok"
    ABSENT = "absent"
    MISSING = "missing"


_MARKS = {
    State.OK: ("ok", "green"),
    State.ABSENT: ("absent", "yellow"),
    State.MISSING: ("MISSING", "bold red"),
}

_SPARK_ADVICE = "needed only by workspaces and the pipeline: pip install 'penstock[spark]'"
_LINKS_ADVICE = "needed only by links between routers: pip install 'penstock[links]'"
_SYNC_ADVICE = "needed only by synchronisation over HTTP: pip install 'penstock[sync]'"
_UVLOOP_ADVICE = "makes links between routers faster, not on Windows: pip install 'penstock[links]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of checking a component; only ``MISSING`` is a failure."""

    part: str
    state: State
    version: str | None = None
    detail: str = ""
    advice: str | None = None


def doctor(*, as_json: JsonOption = False) -> None:
    """Check the installation and say how to fix what is missing.

    Exits with 1 only if a required component is missing; PENSTOCK_REQUIRE_NATIVE=1 makes the
    native core required.
    """
    findings = examine()
    healthy = all(finding.state is not State.MISSING for finding in findings)
    if as_json:
        print_json({"ok": healthy, "findings": [asdict(finding) for finding in findings]})
    else:
        _print_text(findings)
    if not healthy:
        raise typer.Exit(ExitCode.CHECK_FAILED)


def examine() -> tuple[Finding, ...]:
    """Checks every component that Penstock needs or can use."""
    return (
        _python(),
        _native(),
        _package("lxml"),
        _package("pyarrow"),
        _extra_package("deltalake", "deltalake", _SPARK_ADVICE),
        _extra_package("Spark", "pyspark", _SPARK_ADVICE),
        java(),
        _extra_package("msgspec", "msgspec", _LINKS_ADVICE),
        _extra_package("uvloop", "uvloop", _UVLOOP_ADVICE),
        _extra_package("httpx", "httpx", _SYNC_ADVICE),
        _extra_package("Starlette", "starlette", _SYNC_ADVICE),
        _extra_package("uvicorn", "uvicorn", _SYNC_ADVICE),
    )


def _print_text(findings: tuple[Finding, ...]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False)
    for finding in findings:
        mark, style = _MARKS[finding.state]
        table.add_row(Text(mark, style=style), finding.part, finding.version or "", finding.detail)
    print_table(table)
    console = out()
    for finding in findings:
        if finding.advice is not None:
            console.print(f"\n{finding.part}: {finding.advice}", soft_wrap=True)


def _python() -> Finding:
    import platform

    detail = f"{platform.python_implementation()}, {platform.system()} {platform.machine()}"
    return Finding(part="Python", state=State.OK, version=platform.python_version(), detail=detail)


def _native() -> Finding:
    try:
        native = importlib.import_module("penstock._native")
    except ImportError as failure:
        # Not imported through penstock.native, which would warn or raise.
        required = os.environ.get("PENSTOCK_REQUIRE_NATIVE") == "1"
        return Finding(
            part="native core",
            state=State.MISSING if required else State.ABSENT,
            detail="but required" if required else "using the slow Python reference",
            advice=_native_advice(failure),
        )
    return Finding(
        part="native core",
        state=State.OK,
        version=native.__version__,
        detail=f"{native.BUILD_PROFILE} build",
    )


def _native_advice(failure: ImportError) -> str:
    import shutil

    errors = compiler_errors(Path(sys.prefix) / BUILD_LOG)
    if errors:
        return "the build failed with these compiler errors:\n" + errors
    if shutil.which("cargo") is None:
        return (
            "install Rust 1.88 or newer (https://rustup.rs), then run `make setup` in a clone, or"
            " reinstall the package from source"
        )
    return f"run `make setup` to build it ({failure})"


def compiler_errors(log: Path) -> str:
    """Extracts errors from a build log: each begins at ``error`` and ends at an empty line."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    blocks = re.split(r"\n\s*\n", text)
    errors = [
        found.group().rstrip() for block in blocks if (found := _ERROR_IN_BLOCK.search(block))
    ]
    # pip prints the output of a failed build twice.
    lines = "\n".join(dict.fromkeys(errors)).splitlines()
    return "\n".join(line.rstrip() for line in lines[:ERROR_LINES_MAX])


def _package(name: str) -> Finding:
    import importlib.metadata

    try:
        importlib.import_module(name)
        version = importlib.metadata.version(name)
    except ImportError as failure:
        advice = f"run `make setup`, or pip install {name}"
        return Finding(part=name, state=State.MISSING, detail=str(failure), advice=advice)
    return Finding(part=name, state=State.OK, version=version)


def java() -> Finding:
    """Checks the Java that Spark would start, found by ``JAVA_HOME`` or ``PATH``."""
    import shutil
    import subprocess

    advice = (
        f"needed only by the Spark pipeline: install JDK {JAVA_VERSION_MIN} or newer"
        f" (Debian and Ubuntu: apt install openjdk-{JAVA_VERSION_MIN}-jre-headless)"
    )
    home = os.environ.get("JAVA_HOME")
    command = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if command is None:
        return Finding(part="Java", state=State.ABSENT, detail="not found", advice=advice)
    try:
        answer = subprocess.run(
            [command, "-version"],
            capture_output=True,
            text=True,
            check=False,
            timeout=JAVA_TIMEOUT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        detail = f"does not start: {failure}"
        return Finding(part="Java", state=State.ABSENT, detail=detail, advice=advice)
    found = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', answer.stderr)
    if found is None:
        return Finding(
            part="Java", state=State.ABSENT, detail="does not report its version", advice=advice
        )
    version, major = found.group(1), int(found.group(2))
    if major < JAVA_VERSION_MIN:
        return Finding(
            part="Java",
            state=State.ABSENT,
            version=version,
            detail=f"older than {JAVA_VERSION_MIN}",
            advice=advice,
        )
    return Finding(part="Java", state=State.OK, version=version)


def _extra_package(part: str, package: str, advice: str) -> Finding:
    import importlib.metadata

    # Not imported, unlike the required packages: importing Spark takes a second.
    try:
        version = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return Finding(part=part, state=State.ABSENT, detail="not installed", advice=advice)
    return Finding(part=part, state=State.OK, version=version)
