"""Every dependency has its line in docs/dependencies.md, and no line outlives its dependency."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from penstock import __version__
from support.fixtures.repository import DOCS, NATIVE, ROOT

ITSELF = {"penstock-native"}
"""The fuzz targets depend on the crate they test."""

MANIFESTS = (NATIVE / "Cargo.toml", NATIVE / "fuzz" / "Cargo.toml")


def read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def python_dependencies() -> set[str]:
    settings = read(ROOT / "pyproject.toml")
    listed = list(settings["project"]["dependencies"])
    listed += settings["build-system"]["requires"]
    for extra in settings["project"]["optional-dependencies"].values():
        listed += extra
    return {re.split(r"[<>=!~\[; ]", line, maxsplit=1)[0] for line in listed}


def crates() -> set[str]:
    found: set[str] = set()
    for manifest in MANIFESTS:
        settings = read(manifest)
        for table in ("dependencies", "dev-dependencies", "build-dependencies"):
            found |= set(settings.get(table, {}))
    return found - ITSELF


def test_the_page_lists_exactly_what_is_used() -> None:
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", page, re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(python_dependencies() | crates())
    assert all(reason.strip() for _, reason in rows)


def test_licence_and_changelog_are_of_this_version() -> None:
    settings = read(ROOT / "pyproject.toml")["project"]
    crate = read(NATIVE / "Cargo.toml")["package"]
    assert __version__ == crate["version"]
    assert settings["license"] == crate["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {__version__}" in changelog
