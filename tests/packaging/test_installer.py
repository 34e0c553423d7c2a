"""The installer of ``make setup`` and ``make run``: what it installs, and what it shows."""

from __future__ import annotations

import sys
from pathlib import Path

import installer
import pytest
from installer import Job, activity, requirements

PROJECT = {
    "name": "penstock",
    "dependencies": ["rich>=13", "lxml"],
    "optional-dependencies": {
        "spark": ["pyspark[connect]>=4", "pandas"],
        "lab": ["matplotlib"],
        "all": ["penstock[spark,lab]"],
        "dev": ["pytest", "lxml"],
    },
}


def job(tmp_path: Path, code: str) -> Job:
    return Job("a job", [sys.executable, "-c", code], tmp_path / "a.log", {})


def test_extras_add_to_the_requirements() -> None:
    assert requirements(PROJECT, []) == ["rich>=13", "lxml"]
    assert requirements(PROJECT, ["lab"]) == ["rich>=13", "lxml", "matplotlib"]


def test_an_extra_of_extras_is_resolved_and_nothing_is_listed_twice() -> None:
    assert requirements(PROJECT, ["all", "dev", "lab"]) == [
        "rich>=13",
        "lxml",
        "pytest",
        "matplotlib",
        "pyspark[connect]>=4",
        "pandas",
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  Downloading pyspark-4.3.0.tar.gz (455.9 MB)", "downloading pyspark 4.3.0 (455.9 MB)"),
        ("  Downloading lxml-6.1.3-cp311-linux.whl (5.2 MB)", "downloading lxml 6.1.3 (5.2 MB)"),
        ("  Downloading mdurl-0.1.2-py3-none-any.whl (10.0 kB)", None),
        ("Collecting rich<16,>=13.9", "collecting rich"),
        ("  Building wheel for pyspark (pyproject.toml): started", "packing pyspark"),
        ("  Building wheel for pyspark (pyproject.toml): finished with status 'done'", None),
        ("Installing collected packages: pytz, py4j, numpy", "installing 3 packages"),
        ("Installing collected packages: penstock", "installing 1 package"),
        ("   Downloading crates ...", "downloading crates"),
        ("     Running `/bin/rustc --crate-name memchr src/lib.rs`", "compiling memchr"),
        ("     Running `/bin/rustc --crate-name build_script_build build.rs`", None),
        ("warning: unused variable", None),
    ],
)  # fmt: skip
def test_lines_of_pip_and_cargo_tell_the_activity(line: str, expected: str | None) -> None:
    assert activity(line) == expected


def test_a_job_prints_news_at_once_and_else_now_and_then(tmp_path: Path) -> None:
    it = job(tmp_path, "")
    it.doing = "packing pyspark"
    assert it.line(1.0) is None
    assert it.line(5.0) == "packing pyspark"
    assert it.line(10.0) is None
    assert it.line(16.0) == "still packing pyspark"
    it.doing = "installing 3 packages"
    assert it.line(17.0) is None
    assert it.line(21.0) == "installing 3 packages"


def test_what_a_job_prints_goes_to_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    it = job(tmp_path, "print('Collecting rich'); print('something else')")
    assert installer.run([it])
    assert it.doing == "collecting rich"
    assert it.log.read_text() == "Collecting rich\nsomething else\n"
    assert capsys.readouterr().out.split()[-1] == "done"


def test_a_failed_job_shows_its_log_and_stops_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    failing = job(tmp_path, "print('no space left'); raise SystemExit(1)")
    waiting = Job("b", [sys.executable, "-c", "input()"], tmp_path / "b.log", {})
    assert not installer.run([failing, waiting])
    printed = capsys.readouterr()
    assert "failed" in printed.out
    assert "no space left" in printed.err
    assert waiting.process is not None
    assert waiting.process.returncode != 0


def test_the_native_core_and_the_packages_are_jobs_of_their_own(tmp_path: Path) -> None:
    names = [each.name for each in installer.jobs(["spark"], "quick", tmp_path)]
    assert names == ["packages", "native core"]
    (packages,) = installer.jobs(["lab"], None, tmp_path)
    assert any(part.startswith("matplotlib") for part in packages.command)
    (native,) = installer.jobs([], "release", tmp_path)
    assert native.environment["SETUPTOOLS_RUST_CARGO_PROFILE"] == "release"
