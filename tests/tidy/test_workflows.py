"""The hosted CI uses existing targets of the Makefile and the supported Python versions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.fixtures.distributions import project
from support.fixtures.repository import ROOT, files_under

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
