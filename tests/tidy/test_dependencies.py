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


def names(requirements: list[str]) -> list[str]:
    return sorted(re.split(r"[<>=!~\[; ]", line, maxsplit=1)[0] for line in requirements)


def crates() -> list[str]:
    found: set[str] = set()
    for manifest in MANIFESTS:
        settings = read(manifest)
        for table in ("dependencies", "dev-dependencies", "build-dependencies"):
            found |= set(settings.get(table, {}))
    return sorted(found - ITSELF)


def sections() -> dict[str, list[str]]:
    """What is used, by the heading it has on the page."""
    settings = read(ROOT / "pyproject.toml")
    extras = settings["project"]["optional-dependencies"]
    return {
        "Matcher": names(settings["project"]["dependencies"]),
        **{f"Extra `{extra}`": names(extras[extra]) for extra in extras if extra != "all"},
        "Build system": names(settings["build-system"]["requires"]),
        "Crates of the native core": crates(),
    }


def test_the_page_lists_exactly_what_is_used() -> None:
    page = (DOCS / "dependencies.md").read_text(encoding="utf-8")
    found: dict[str, list[str]] = {}
    for section in page.split("\n## ")[1:]:
        heading, _, text = section.partition("\n")
        rows = re.findall(r"^\| `([\w-]+)` \| (.+) \|$", text, re.MULTILINE)
        assert all(reason.strip() for _, reason in rows)
        found[heading] = sorted(name for name, _ in rows)
    assert found == sections()


def test_the_matcher_alone_needs_neither_spark_nor_a_table_format() -> None:
    settings = read(ROOT / "pyproject.toml")["project"]
    extras = {"pyspark", "deltalake", "pandas", "matplotlib", "msgspec", "uvloop", "httpx"}
    extras |= {"starlette", "uvicorn"}
    assert not extras & set(names(settings["dependencies"]))
    assert settings["optional-dependencies"]["all"] == ["penstock[spark,links,sync,lab]"]


def test_licence_and_changelog_are_of_this_version() -> None:
    settings = read(ROOT / "pyproject.toml")["project"]
    crate = read(NATIVE / "Cargo.toml")["package"]
    assert __version__ == crate["version"]
    assert settings["license"] == crate["license"] == "Apache-2.0"
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {__version__}" in changelog
