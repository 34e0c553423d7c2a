"""Runs the fuzz targets one after the other, each for a given time: ``make fuzz``.

Inputs that found something new stay in ``build/fuzz/corpus`` and start the next run; inputs that
failed are in ``build/fuzz/artifacts``. The report is made from the logs in ``build/fuzz/logs``; the
written one keeps the last result of the targets that have no log.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import importlib.util
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, cast

from penstock.lab.bench.machine_description import this_machine
from seed_inputs import seed_inputs

ROOT = Path(__file__).resolve().parents[1]
DICTIONARIES = Path(__file__).parent / "dictionaries"
WORK = ROOT / "build" / "fuzz"
RESULT = ROOT / "benchmarks" / "results" / "fuzz.txt"

INPUT_SECONDS_MAX = 120
"""Seconds after which one input counts as a hang. Generous: the campaign runs at low priority."""

MEMORY_MB_MAX = 2048
"""Memory of a target; more is a finding."""

NATIVE_DICTIONARIES = {
    "documents": "xml.dict",
    "doctypes": "xml.dict",
    "records": "xml.dict",
    "queries": "queries.dict",
    "path_matching": "queries.dict",
    "keyword_queries": "queries.dict",
    "keyword_matching": "queries.dict",
    "mapping": "queries.dict",
}
"""The dictionaries of the native targets; inputs of ``index_files`` are lists of changes, and those
of ``tree_patches`` are binary."""

_DONE = re.compile(r"^Done (\d+) (?:runs )?in (\d+) second", re.MULTILINE)
_COVERAGE = re.compile(r"\bcov: (\d+) ft: (\d+) corp: (\d+)/")
_EXECUTED = re.compile(r"^#(\d+)\s", re.MULTILINE)
_ARTIFACT = re.compile(r"Test unit written to \S*/([a-z]+-[0-9a-f]+)")


def native_targets() -> list[str]:
    """The targets of the crate ``native/fuzz``."""
    manifest = tomllib.loads((ROOT / "native/fuzz/Cargo.toml").read_text(encoding="utf-8"))
    return [str(target["name"]) for target in manifest["bin"]]


def python_targets() -> list[str]:
    """The modules of ``fuzz/python_targets``."""
    found = (Path(__file__).parent / "python_targets").glob("*.py")
    return sorted(path.stem for path in found if path.stem != "__init__")


class PythonTarget(Protocol):
    """What a module of ``fuzz/python_targets`` has."""

    DICTIONARY: str | None

    def seeds(self) -> list[bytes]:
        """Valid inputs to start from."""

    def run_input(self, data: bytes) -> None:
        """Parse an input; an exception is a finding."""


def python_target(name: str) -> PythonTarget:
    """The module of a target."""
    # A module has these attributes, but type checkers do not know which module it is.
    return cast(PythonTarget, importlib.import_module(f"python_targets.{name}"))


@dataclass(frozen=True, slots=True)
class Report:
    """The result of one target, from its log."""

    target: str
    seconds: int
    executions: int
    coverage: int
    corpus: int
    findings: tuple[str, ...]

    @property
    def is_result(self) -> bool:
        """Whether the run ended, by its time or by a finding, and was not interrupted."""
        return self.seconds > 0 or bool(self.findings)

    @classmethod
    def of_log(cls, target: str, log: str) -> Report:
        """Reads the log of libFuzzer or Atheris."""
        done = _DONE.search(log)
        executed = [int(number) for number in _EXECUTED.findall(log)]
        covered = _COVERAGE.findall(log)
        return cls(
            target,
            int(done[2]) if done else 0,
            int(done[1]) if done else max(executed, default=0),
            int(covered[-1][0]) if covered else 0,
            int(covered[-1][2]) if covered else 0,
            tuple(_ARTIFACT.findall(log)),
        )

    def __str__(self) -> str:
        findings = ", ".join(self.findings) or "none"
        numbers = f"{self.seconds:>8} {self.executions:>12} {self.coverage:>9} {self.corpus:>7}"
        return f"{self.target:<20} {numbers}  {findings}"


HEADING = (
    f"{'target':<20} {'seconds':>8} {'executions':>12} {'coverage':>9} {'corpus':>7}  findings"
)


def main() -> None:
    """Run the targets and write the report."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("targets", nargs="*", help="all if none is given")
    parser.add_argument("--seconds", type=int, default=600, help="for each target")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.relative_to(ROOT)}")
    parser.add_argument("--report", action="store_true", help="run nothing: report existing logs")
    given = parser.parse_args()
    everything = [*native_targets(), *python_targets()]
    unknown = set(given.targets) - set(everything)
    if unknown:
        parser.error(f"unknown target {', '.join(sorted(unknown))}")
    if not given.report:
        for target in given.targets or everything:
            run(target, given.seconds)
    logs = {target: WORK / "logs" / f"{target}.log" for target in everything}
    reports = [
        Report.of_log(target, log.read_text(encoding="utf-8", errors="replace"))
        for target, log in logs.items()
        if log.exists()
    ]
    lines = {report.target: str(report) for report in reports if report.is_result}
    heading = ["make fuzz", str(this_machine()), "", HEADING]
    say("\n".join([*heading, *lines.values()]))
    if given.write:
        lines = earlier_lines(RESULT.read_text(encoding="utf-8")) | lines
        written = [lines[target] for target in everything if target in lines]
        RESULT.write_text("\n".join([*heading, *written]) + "\n", encoding="utf-8")
    if any(report.findings for report in reports):
        raise SystemExit(f"the inputs of the findings are in {(WORK / 'artifacts')}")


def earlier_lines(report: str) -> dict[str, str]:
    """The lines of an earlier report, by target."""
    _, _, rest = report.partition(f"{HEADING}\n")
    return {line.split()[0]: line for line in rest.splitlines()}


def run(target: str, seconds: int) -> None:
    """Run a target, or say what is missing."""
    if target in native_targets():
        if missing("cargo", "+nightly", "fuzz", "--version"):
            say(
                f"{target}: not run, it needs nightly Rust and cargo-fuzz "
                "(rustup toolchain install nightly, cargo install cargo-fuzz)"
            )
            return
        seeds = seed_inputs()[target]
        dictionary = NATIVE_DICTIONARIES.get(target)
        command = ["cargo", "+nightly", "fuzz", "run", target, str(corpus_of(target, seeds)), "--"]
    else:
        if importlib.util.find_spec("atheris") is None:
            say(f"{target}: not run, it needs Atheris (pip install 'atheris>=3,<4'; Linux only)")
            return
        module = python_target(target)
        dictionary = module.DICTIONARY
        driver = str(Path(__file__).parent / "run_python_target.py")
        command = [sys.executable, driver, target, str(corpus_of(target, module.seeds()))]
    artifacts = WORK / "artifacts" / target
    artifacts.mkdir(parents=True, exist_ok=True)
    command += [
        f"-max_total_time={seconds}",
        f"-timeout={INPUT_SECONDS_MAX}",
        f"-rss_limit_mb={MEMORY_MB_MAX}",
        f"-artifact_prefix={artifacts}/",
    ]
    if dictionary is not None:
        command.append(f"-dict={DICTIONARIES / dictionary}")
    log = WORK / "logs" / f"{target}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    say(f"{target}: {seconds} s, log in {log.relative_to(ROOT)}")
    with log.open("wb") as output:
        subprocess.run(
            command, cwd=ROOT / "native", stdout=output, stderr=subprocess.STDOUT, check=False
        )


def corpus_of(target: str, seeds: list[bytes]) -> Path:
    """The folder of a target's corpus, with its seeds in it."""
    folder = WORK / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    return folder


def missing(*command: str) -> bool:
    """Whether a command cannot be run."""
    try:
        done = subprocess.run(command, capture_output=True, check=False)
    except FileNotFoundError:
        return True
    return done.returncode != 0


def say(line: str) -> None:
    """Print a line and flush it, so that it appears through a pipe at once."""
    print(line, flush=True)


if __name__ == "__main__":
    main()
