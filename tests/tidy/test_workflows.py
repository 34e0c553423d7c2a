"""The hosted CI uses existing targets of the Makefile and the supported Python versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.fixtures.distributions import project
from support.fixtures.repository import ROOT, files_under
from support.service.running_basex import MISSING, is_skipped

WORKFLOWS = files_under(ROOT / ".github" / "workflows", ".yml")


def makefile_targets() -> set[str]:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


@pytest.mark.parametrize("path", [*WORKFLOWS, ROOT / ".ci" / "run"], ids=lambda path: path.name)
def test_every_target_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = set(re.findall(r"^\s*(?:run:|exec)?\s*make ([a-z-]+)", text, re.MULTILINE))
    assert used <= makefile_targets()


def test_the_python_versions_are_those_of_the_package() -> None:
    classifiers = project()["classifiers"]
    assert isinstance(classifiers, list)
    supported = re.findall(r"Python :: (3\.\d+)", "\n".join(classifiers))
    for path in WORKFLOWS:
        for line in re.findall(r"python: \[(.+)\]", path.read_text(encoding="utf-8")):
            assert re.findall(r"3\.\d+", line) == supported


def test_tests_run_with_basex_and_fail_without_it() -> None:
    text = (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8")
    installed = re.search(r"apt-get install .*\bbasex$", text, re.MULTILINE)
    first_tests = re.search(r"run: make (?:crate|python)-tests", text)
    assert installed is not None
    assert first_tests is not None
    assert installed.start() < first_tests.start()
    switch = re.search(r'(PENSTOCK_\w+): "1"$', text, re.MULTILINE)
    assert switch is not None
    assert is_skipped(None, {}), MISSING
    assert not is_skipped(None, {switch[1]: "1"})
    assert not is_skipped("/usr/bin/basexserver", {})
