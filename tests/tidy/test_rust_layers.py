"""The modules of the native core depend on each other downwards only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.fixtures.repository import NATIVE

SOURCES = NATIVE / "src"

MAY_USE: dict[str, set[str]] = {
    "events": set(),
    "xpath": set(),
    "value_tests": {"xpath"},
    "affected": {"xpath"},
    "relations": {"value_tests", "xpath"},
    "reader": {"events"},
    "records": {"events", "reader"},
    "sample_paths": {"events", "reader"},
    "label_paths": {"events", "xpath"},
    "select": {"events", "value_tests", "xpath"},
    "document_tree": {"events", "reader", "select", "xpath"},
    "rewriting": {"events", "select", "xpath"},
    "subscription_store": {"xpath"},
    "tokenizer": set(),
    "dispatch": {
        "document_tree",
        "events",
        "label_paths",
        "reader",
        "rewriting",
        "select",
        "subscription_store",
        "xpath",
    },
    "path_index": {"subscription_store", "xpath"},
    "matching": {
        "dispatch",
        "events",
        "path_index",
        "reader",
        "select",
        "subscription_store",
        "xpath",
    },
    "containment_index": {
        "dispatch",
        "matching",
        "path_index",
        "reader",
        "relations",
        "select",
        "subscription_store",
    },
    "keywords": {
        "dispatch",
        "events",
        "reader",
        "select",
        "subscription_store",
        "tokenizer",
        "xpath",
    },
    "routes": {"dispatch"},
    "combined": {"dispatch", "keywords", "matching", "subscription_store"},
    "baselines": {
        "dispatch",
        "events",
        "keywords",
        "matching",
        "path_index",
        "subscription_store",
        "xpath",
    },
    "engine_selection": {
        "baselines",
        "combined",
        "dispatch",
        "keywords",
        "matching",
        "path_index",
        "reader",
    },
    "index_file_exercise": {
        "dispatch",
        "engine_selection",
        "keywords",
        "matching",
        "path_index",
        "reader",
        "subscription_store",
        "xpath",
    },
    "python": {
        "affected",
        "baselines",
        "containment_index",
        "dispatch",
        "document_tree",
        "engine_selection",
        "events",
        "keywords",
        "label_paths",
        "matching",
        "path_index",
        "reader",
        "records",
        "relations",
        "rewriting",
        "routes",
        "sample_paths",
        "select",
        "subscription_store",
        "tokenizer",
        "xpath",
    },
}
"""Module to the modules it may use, lowest first; not transitive."""

TEST_MODULE = re.compile(
    r"^\s*#\[cfg\((?:all\()?test\b[^\n]*\n\s*(?:pub(?:\([a-z]+\))? )?mod (\w+)( \{|;)", re.M
)
"""A module that is compiled for tests only; tests may use any module."""

COMMENT = re.compile(r"//[^\n]*")
CRATE_PATH = re.compile(r"\bcrate::(?:\{([^}]*)\}|(\w+))")


def production_code(path: Path) -> str:
    """The text of a source file without comments and without its inline test modules."""
    text = path.read_text()
    for found in reversed(list(TEST_MODULE.finditer(text))):
        if found[2] == " {":
            indent = re.match(r"\s*?( *)#", found[0].lstrip("\n"))
            closing = "\n" + (indent[1] if indent else "") + "}"
            end = text.index(closing, found.end()) + len(closing)
            text = text[: found.start()] + text[end:]
    return COMMENT.sub("", text)


def files_of_tests() -> set[Path]:
    """The source files that are compiled for tests only, and their submodules."""
    roots = {
        (path.parent if path.stem in {"mod", "lib"} else path.with_suffix("")) / found[1]
        for path in SOURCES.rglob("*.rs")
        for found in TEST_MODULE.finditer(path.read_text())
        if found[2] == ";"
    }
    return {
        path
        for path in SOURCES.rglob("*.rs")
        for root in roots
        if path == root.with_suffix(".rs") or root in path.parents
    }


def modules() -> dict[str, list[Path]]:
    """The source files of each top-level module of the crate, without tests."""
    found: dict[str, list[Path]] = {}
    for path in sorted(set(SOURCES.rglob("*.rs")) - files_of_tests()):
        inside = path.relative_to(SOURCES)
        name = inside.parts[0] if len(inside.parts) > 1 else inside.stem
        found.setdefault(name, []).append(path)
    found.pop("lib")
    return found


def used(path: Path, names: set[str]) -> Iterator[str]:
    """The top-level modules that a source file names."""
    for braced, plain in CRATE_PATH.findall(production_code(path)):
        for name in re.findall(r"^\s*(\w+)|,\s*(\w+)", braced) if braced else [(plain, "")]:
            module = name[0] or name[1]
            if module in names:
                yield module


def test_every_module_is_in_the_table() -> None:
    assert sorted(modules()) == sorted(MAY_USE)


@pytest.mark.parametrize("module", sorted(MAY_USE))
def test_a_module_uses_exactly_what_the_table_allows(module: str) -> None:
    files = modules()[module]
    uses = {name for path in files for name in used(path, set(MAY_USE))} - {module}
    assert uses == MAY_USE[module]


def test_the_table_lists_lower_modules_first() -> None:
    order = list(MAY_USE)
    upwards = {
        (module, lower)
        for module, allowed in MAY_USE.items()
        for lower in allowed
        if order.index(lower) >= order.index(module)
    }
    assert upwards == set()


def test_lib_documents_the_layers_in_order() -> None:
    text = (SOURCES / "lib.rs").read_text()
    documented = re.findall(r"^//! \* \[?`(\w+)`", text, re.M)
    assert documented == list(MAY_USE)


def test_every_module_is_declared_in_lib() -> None:
    text = (SOURCES / "lib.rs").read_text()
    declared = re.findall(r"^(?:pub(?:\(crate\))? )?mod (\w+);", text, re.M)
    assert sorted(declared) == sorted(MAY_USE)
