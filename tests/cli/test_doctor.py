"""`penstock doctor`: findings, advice and exit codes."""

from __future__ import annotations

import importlib.metadata
import json
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.commands import doctor
from penstock.cli.commands.doctor import State
from support.fixtures.commands import penstock

LOG = """\
   Compiling penstock-native v0.1.0
error[E0425]: cannot find value `x` in this scope
  --> src/lib.rs:3:5
   |
3  |     x
   |     ^ not found in this scope

error: could not compile `penstock-native` (lib) due to 1 previous error

warning: unused variable

error[E0425]: cannot find value `x` in this scope
  --> src/lib.rs:3:5
   |
3  |     x
   |     ^ not found in this scope
"""


def finding(part: str) -> doctor.Finding:
    return next(each for each in doctor.examine() if each.part == part)


@pytest.fixture
def no_native(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Hides the native core; the value is the new ``sys.prefix``."""
    monkeypatch.setitem(sys.modules, "penstock._native", None)
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    return tmp_path


def java_says(monkeypatch: pytest.MonkeyPatch, stderr: str) -> None:
    answer = subprocess.CompletedProcess(["java"], 0, stdout="", stderr=stderr)
    monkeypatch.setattr("shutil.which", lambda *_, **__: "java")
    monkeypatch.setattr("subprocess.run", lambda *_, **__: answer)


def test_every_component_is_checked_once() -> None:
    parts = [each.part for each in doctor.examine()]
    required = ["Python", "native core", "lxml", "pyarrow"]
    extras = ["deltalake", "Spark", "Java", "msgspec", "uvloop", "httpx", "Starlette", "uvicorn"]
    assert parts == [*required, *extras]


def test_json_and_text_agree() -> None:
    report = json.loads(penstock("doctor", "--json").out)
    text = penstock("doctor").out
    assert report["ok"] is True
    for each in report["findings"]:
        assert each["part"] in text
        assert (each["version"] or "") in text


def test_a_missing_native_core_is_reported_but_not_a_failure(
    no_native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_REQUIRE_NATIVE", raising=False)
    assert finding("native core").state is State.ABSENT
    assert penstock("doctor").code == 0


def test_a_missing_required_native_core_is_a_failure(
    no_native: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_REQUIRE_NATIVE", "1")
    assert finding("native core").state is State.MISSING
    done = penstock("doctor")
    assert done.code == 1
    assert "Python reference" not in done.out


def test_compiler_errors_are_shown(no_native: Path) -> None:
    (no_native / doctor.BUILD_LOG).write_text(LOG, encoding="utf-8")
    advice = finding("native core").advice
    assert advice is not None
    assert "not found in this scope" in advice
    assert "unused variable" not in advice
    assert advice.count("cannot find value") == 1


def test_without_a_build_log_the_advice_is_to_build(no_native: Path) -> None:
    advice = finding("native core").advice
    assert advice is not None
    assert "make setup" in advice


@pytest.mark.parametrize(
    ("version", "state"),
    [("17.0.9", State.OK), ("21", State.OK), ("11.0.2", State.ABSENT), ("1.8.0_392", State.ABSENT)],
)
def test_java_17_or_newer_is_required(
    monkeypatch: pytest.MonkeyPatch, version: str, state: State
) -> None:
    java_says(monkeypatch, f'openjdk version "{version}" 2023-10-17')
    found = finding("Java")
    assert (found.version, found.state) == (version, state)
    assert (found.advice is None) == (state is State.OK)


def test_a_java_without_a_version_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    java_says(monkeypatch, "The operation couldn't be completed.")
    assert finding("Java").state is State.ABSENT


def test_a_missing_package_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lxml", None)
    assert finding("lxml").state is State.MISSING
    done = penstock("doctor")
    assert done.code == 1
    assert "pip install lxml" in done.out


def test_missing_java_comes_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    done = penstock("doctor")
    assert done.code == 0, "only the pipeline needs it"
    assert "apt install openjdk-17" in done.out


@pytest.mark.parametrize(
    ("part", "package", "extra"),
    [
        ("Spark", "pyspark", "spark"),
        ("deltalake", "deltalake", "spark"),
        ("msgspec", "msgspec", "links"),
        ("uvloop", "uvloop", "links"),
        ("httpx", "httpx", "sync"),
        ("Starlette", "starlette", "sync"),
        ("uvicorn", "uvicorn", "sync"),
    ],
)
def test_without_an_extra_the_advice_names_it(
    monkeypatch: pytest.MonkeyPatch, part: str, package: str, extra: str
) -> None:
    version = importlib.metadata.version

    def without(name: str) -> str:
        if name == package:
            raise importlib.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without)
    assert finding(part).state is State.ABSENT
    done = penstock("doctor")
    assert done.code == 0, "the matcher does not need it"
    assert f"pip install 'penstock[{extra}]'" in done.out
