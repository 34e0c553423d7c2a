"""Installs Penstock into the environment of the running Python, and shows progress.

Two jobs take nearly all the time and do not depend on each other, so they run side by side: pip
downloads and installs the packages (most of that is Spark), and cargo compiles the native core.
Their full output goes to ``packages.log`` and ``native-build.log`` in the environment. The terminal
gets a line when a job turns to something else, and at least one every ten seconds.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

LINE_SECONDS_MIN = 4.0
"""A job prints at most one line in this time, so that quick steps do not flood the terminal."""

LINE_SECONDS_MAX = 10.0
"""A job that works prints at least one line in this time: a silent minute looks like a hang."""

LOG_LINES_SHOWN = 40
"""How much of its log a failed job shows."""

CARGO_FEATURES = "baselines"
"""Cargo features of a development build, besides those that every build has."""

STORED_WHEELS = "[bdist_wheel]\ncompression = stored\n"
"""Spark is published as source only, so pip packs its 400 MB into a wheel just to unpack it again:
without compression this takes seconds instead of half a minute."""


def requirements(project: Mapping[str, object], extras: Iterable[str]) -> list[str]:
    """The packages that a project needs with these extras, each requirement once."""
    optional = project["optional-dependencies"]
    assert isinstance(optional, dict)
    found = dict.fromkeys(_strings(project["dependencies"]))
    waiting, done = list(extras), set[str]()
    while waiting:
        extra = waiting.pop(0)
        if extra in done:
            continue
        done.add(extra)
        for line in _strings(optional[extra]):
            own = re.fullmatch(rf"{project['name']}\[(.+)\]", line)
            if own is None:
                found[line] = None
            else:
                waiting += [name.strip() for name in own.group(1).split(",")]
    return list(found)


def _strings(value: object) -> list[str]:
    assert isinstance(value, list)
    return [str(item) for item in value]


_ACTIVITIES = (
    (re.compile(r"\s*Downloading crates"), "downloading crates"),
    # Of cargo's verbose output, because "Compiling" names a crate before its turn has come.
    (re.compile(r"\s*Running `.*--crate-name (?!build_script)(?P<name>\w+)"), "compiling {name}"),
    (
        re.compile(
            r"\s*Downloading (?P<name>\w+)-(?P<version>[\w.]+?)(-\S+|\.tar\.gz)"
            r" \((?P<size>.+ [MG]B)\)"
        ),
        "downloading {name} {version} ({size})",
    ),
    (re.compile(r"\s*Building wheel for (?P<name>\S+) .*started"), "packing {name}"),
    (re.compile(r"\s*Collecting (?P<name>[\w.-]+)"), "collecting {name}"),
    (re.compile(r"\s*Installing build dependencies: started"), "preparing the build"),
    (re.compile(r"\s*Installing collected packages: (?P<names>.+)"), "installing {count}"),
)


def activity(line: str) -> str | None:
    """What a line of pip's or cargo's output says is being done, or None."""
    for pattern, text in _ACTIVITIES:
        found = pattern.match(line)
        if found is not None:
            values = found.groupdict()
            names = values.pop("names", None)
            if names is not None:
                count = names.count(",") + 1
                values["count"] = "1 package" if count == 1 else f"{count} packages"
            return text.format(**values)
    return None


@dataclass
class Job:
    """A process with a log; a thread reads its output and keeps what it is doing."""

    name: str
    command: list[str]
    log: Path
    environment: dict[str, str]
    doing: str = "starting"
    compiled: int = 0
    printed: str = ""
    printed_at: float = field(default=0.0)
    process: subprocess.Popen[str] | None = None
    reader: threading.Thread | None = None

    def start(self) -> None:
        """Starts the process and the thread."""
        self.process = subprocess.Popen(
            self.command,
            cwd=ROOT,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self) -> None:
        assert self.process is not None
        assert self.process.stdout is not None
        with self.process.stdout as output, self.log.open("w", encoding="utf-8") as log:
            for line in output:
                log.write(line)
                log.flush()
                now = activity(line)
                if now is not None:
                    self.compiled += now.startswith("compiling")
                    self.doing = now

    def stop(self) -> None:
        """Ends the process before its time."""
        assert self.process is not None
        assert self.reader is not None
        self.process.terminate()
        self.process.wait()
        self.reader.join()

    def returncode(self) -> int | None:
        """The exit code once the process has ended and its output has been read."""
        assert self.process is not None
        assert self.reader is not None
        if self.process.poll() is None or self.reader.is_alive():
            return None
        return self.process.returncode

    def line(self, elapsed: float) -> str | None:
        """The next line to print, if it is time for one."""
        since = elapsed - self.printed_at
        news = self.doing != self.printed
        if since < (LINE_SECONDS_MIN if news else LINE_SECONDS_MAX):
            return None
        self.printed, self.printed_at = self.doing, elapsed
        text = self.doing if news else f"still {self.doing}"
        if self.doing.startswith("compiling"):
            text += f" (crate {self.compiled})"
        return text


def run(jobs: list[Job]) -> bool:
    """Runs all jobs side by side; stops at the first that fails, and shows why."""
    begun = time.monotonic()
    for job in jobs:
        job.start()
    running = list(jobs)
    try:
        while running:
            time.sleep(0.2)
            elapsed = time.monotonic() - begun
            for job in list(running):
                code = job.returncode()
                if code is None:
                    text = job.line(elapsed)
                else:
                    running.remove(job)
                    text = "done" if code == 0 else "failed"
                if text is not None:
                    print(f"{elapsed:5.0f} s  {job.name:<11}  {text}", flush=True)
                if code:
                    lines = job.log.read_text("utf-8", "replace").splitlines()
                    print("\n".join(lines[-LOG_LINES_SHOWN:]), file=sys.stderr)
                    return False
        return True
    finally:
        for job in running:
            job.stop()


def jobs(extras: list[str], profile: str | None, folder: Path) -> Iterator[Job]:
    """The jobs for what was asked; ``folder`` holds temporary files while they run."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--no-compile"]
    logs = Path(sys.prefix)
    if extras:
        config = folder / "distutils.cfg"
        config.write_text(STORED_WHEELS, "utf-8")
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        yield Job(
            "packages",
            [*pip, *requirements(project, extras)],
            logs / "packages.log",
            {"DIST_EXTRA_CONFIG": str(config)},
        )
    if profile is not None:
        yield Job(
            "native core",
            [*pip, "--verbose", "--no-deps", "--editable", "."],
            logs / "native-build.log",
            {
                "SETUPTOOLS_RUST_CARGO_PROFILE": profile,
                "PENSTOCK_CARGO_FEATURES": CARGO_FEATURES,
            },
        )


def main() -> int:
    """The command line; gives the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument(
        "--extra",
        action="append",
        default=[],
        help="install the packages of this extra; repeatable",
    )
    parser.add_argument(
        "--build",
        metavar="PROFILE",
        help="install Penstock itself, compiled with this cargo profile",
    )
    options = parser.parse_args()
    if options.build is not None:
        # The extension is optional, so pip succeeds where the compiler fails: the extension of an
        # earlier build must not pass for the new one.
        for built in (ROOT / "src" / "penstock").glob("_native*.[sp][oy]*"):
            if built.suffix in {".so", ".pyd"}:
                built.unlink()
    with tempfile.TemporaryDirectory() as folder:
        return 0 if run(list(jobs(options.extra, options.build, Path(folder)))) else 1


if __name__ == "__main__":
    sys.exit(main())
