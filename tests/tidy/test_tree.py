"""The repository has no dead or oversized files and no traces of a development machine."""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path

import pytest

from support.fixtures.repository import (
    DOCS,
    NATIVE,
    ROOT,
    SOURCE,
    TESTS,
    files,
    files_under,
    imports,
    relative,
)

SUPPORT = TESTS / "support"
"""Helpers of the tests: packages, unlike the tests themselves."""

MADE_ELSEWHERE = {"LICENSE"}
"""Text that is not ours to change."""

FORBIDDEN_WORDS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")

MACHINE_PATHS = re.compile(
    "|".join(
        [
            r"/(?:home|Users)/\w+/",
            r"[A-Z]:\\\\?Users\\",
            r"/root/\.\w",
            *(re.escape(str(path)) + r"\b" for path in (ROOT, sys.prefix)),
        ]
    )
)

REGISTRIES = re.compile(
    r"pypi\.org|pythonhosted\.org|crates\.io|registry\+http|sparse\+http|artifactory"
    r"|anaconda\.org|npmjs|--index-url|--extra-index-url|maven\.org"
)

CARGO_LOCK = NATIVE / "Cargo.lock"

CRATE_REGISTRY = 'source = "registry+https://github.com/rust-lang/crates.io-index"'
"""The only line of Cargo.lock that may name a registry: the public one, never a mirror."""


def text_files() -> list[Path]:
    """Every file but this one, which has to name what it forbids, and texts of others."""
    return [
        path
        for path in files()
        if path != Path(__file__).resolve() and relative(path) not in MADE_ELSEWHERE
    ]


@cache
def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="replace").splitlines()


def hits(pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{relative(path)}:{number}: {line.strip()}"
        for path in text_files()
        for number, line in enumerate(lines_of(path), start=1)
        if pattern.search(line) and not (path == CARGO_LOCK and line == CRATE_REGISTRY)
    ]


@pytest.mark.parametrize(
    "pattern", [FORBIDDEN_WORDS, MACHINE_PATHS, REGISTRIES], ids=["words", "paths", "registries"]
)
def test_no_forbidden_text_occurs(pattern: re.Pattern[str]) -> None:
    assert hits(pattern) == []


def test_every_crate_comes_from_the_public_registry() -> None:
    sources = {line for line in lines_of(CARGO_LOCK) if line.startswith("source = ")}
    assert sources == {CRATE_REGISTRY}


def test_the_patterns_match_their_examples() -> None:
    assert FORBIDDEN_WORDS.search("// TODO later")
    assert MACHINE_PATHS.search(f"see {ROOT}/src")
    assert MACHINE_PATHS.search("/home/someone/x")
    assert not MACHINE_PATHS.search("/root/item[@a]")
    assert REGISTRIES.search("https://pypi.org/simple")


def test_every_data_file_of_the_package_is_named_by_its_code() -> None:
    code = "\n".join("\n".join(lines_of(path)) for path in files_under(SOURCE, ".py"))
    data = [
        path
        for path in files_under(SOURCE)
        if path.suffix not in {".py", ".pyi"} and path.name != "py.typed"
    ]
    assert [relative(path) for path in data if path.stem not in code] == []


def test_every_rust_module_is_declared_by_its_parent() -> None:
    orphans = []
    for path in files_under(NATIVE / "src", ".rs"):
        if path.name in {"lib.rs", "main.rs"}:
            continue
        name, folder = (path.stem, path.parent)
        if name == "mod":
            name, folder = (folder.name, folder.parent)
        parents = [folder / "lib.rs", folder / "mod.rs", folder.with_suffix(".rs")]
        declared = re.compile(rf"^\s*(pub(\([a-z]+\))? )?mod {name};", re.MULTILINE)
        if not any(p.exists() and declared.search(p.read_text("utf-8")) for p in parents):
            orphans.append(relative(path))
    assert orphans == []


def test_every_helper_of_the_tests_is_used() -> None:
    support = [path for path in files_under(SUPPORT, ".py") if path.name != "__init__.py"]
    used = {name for path in files_under(TESTS, ".py") for name in imports(path)}
    used |= {name for path in files_under(ROOT / "benchmarks", ".py") for name in imports(path)}
    named_in = (ROOT / "Makefile").read_text(encoding="utf-8")
    named_in += (TESTS / "conftest.py").read_text(encoding="utf-8")  # pytest_plugins
    names = [".".join(path.relative_to(TESTS).with_suffix("").parts) for path in support]
    assert [name for name in names if name not in used and name not in named_in] == []


def test_every_test_module_is_collected() -> None:
    kinds = re.compile(r"(test_\w+|conftest)\.py")
    modules_ = [path for path in files_under(TESTS, ".py") if not path.is_relative_to(SUPPORT)]
    assert [relative(path) for path in modules_ if not kinds.fullmatch(path.name)] == []


def test_names_of_test_modules_are_unique() -> None:
    # There are no packages among the tests: two modules of one name would shadow each other.
    modules_ = [path for path in files_under(TESTS, ".py") if not path.is_relative_to(SUPPORT)]
    names = [path.name for path in modules_ if path.name != "conftest.py"]
    assert sorted(name for name in set(names) if names.count(name) > 1) == []


def test_every_example_is_used() -> None:
    users = [ROOT / "Makefile", ROOT / "README.md", *files_under(DOCS, ".md")]
    users += files_under(TESTS, ".py")
    text = "\n".join("\n".join(lines_of(path)) for path in users if path.exists())
    unused = [
        relative(path)
        for path in files_under(ROOT / "examples")
        if relative(path) not in text and f"{relative(path.parent)}/*" not in text
    ]
    assert unused == []
