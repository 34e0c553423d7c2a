"""Imports go downwards only, as the design's table says."""

from __future__ import annotations

import ast

import pytest

from support.fixtures.repository import imports, modules, syntax_tree

MAY_IMPORT: dict[str, set[str]] = {
    "documents": set(),
    "language": set(),
    "schema": {"documents", "language"},
    "matching": {"language", "documents"},
    "mediation": {"schema", "matching"},
    "links": {"documents"},
    "routing": {"matching", "mediation", "links"},
    "overlay": {"matching", "routing", "links"},
    "sync": {"language", "schema", "documents"},
    "workspace": {"matching", "mediation", "routing", "sync"},
    "pipeline": {"workspace", "mediation", "routing", "overlay", "sync"},
    "service": {"pipeline"},
    "lab": {"service"},
    "cli": {"lab"},
}
"""Package to the packages it may import; "may import" is transitive."""

FOR_ALL = {"errors", "extras", "lazy_imports", "native", "_native"}
"""The lowest layer: the error table, the checks for extras, imports on first use and the import of
the native core."""

THE_FACADE = "penstock"
"""``penstock/__init__.py`` re-exports the public names; only those on top may use it."""

MAY_USE_THE_FACADE = {"cli", "lab", "service", "__main__"}


def below(package: str) -> set[str]:
    """Everything ``package`` may import, transitively."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        for lower in MAY_IMPORT[waiting.pop()] - found:
            found.add(lower)
            waiting.append(lower)
    return found


def package_of(module: str) -> str:
    """``penstock.language.xpath.ast`` is in package ``language``; the façade in package ``""``."""
    return module.partition(".")[2].partition(".")[0]


def allowed(importer: str, imported: str) -> bool:
    """Whether a module of Penstock may import another."""
    here, there = package_of(importer), package_of(imported)
    if importer == THE_FACADE or here == there or there in FOR_ALL:
        return True
    if imported == THE_FACADE:
        return here in MAY_USE_THE_FACADE
    if here == "__main__":
        return there == "cli"
    return here not in FOR_ALL and there in below(here)


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_go_downwards(module: str) -> None:
    of_penstock = {name for name in imports(modules()[module]) if name.split(".")[0] == "penstock"}
    assert sorted(name for name in of_penstock if not allowed(module, name)) == []


@pytest.mark.parametrize("module", sorted(modules()))
def test_pyspark_stays_in_the_pipeline(module: str) -> None:
    uses_spark = any(name.split(".")[0] == "pyspark" for name in imports(modules()[module]))
    assert not uses_spark or package_of(module) == "pipeline"


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_are_absolute(module: str) -> None:
    nodes = ast.walk(syntax_tree(modules()[module]))
    assert not any(isinstance(node, ast.ImportFrom) and node.level > 0 for node in nodes)


def test_every_package_is_in_the_table() -> None:
    packages = {package_of(name) for name, path in modules().items() if path.name == "__init__.py"}
    assert packages - {""} <= set(MAY_IMPORT) | FOR_ALL


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("penstock.language.text", "penstock.documents"),
        ("penstock.documents.reader", "penstock.matching.index"),
        ("penstock.matching.index", "penstock.schema"),
        ("penstock.matching.index", "penstock"),
        ("penstock.lab.bench", "penstock.cli.console"),
        ("penstock.errors", "penstock.documents"),
    ],
)
def test_the_rule_itself_refuses_imports_upwards_and_sideways(importer: str, imported: str) -> None:
    assert not allowed(importer, imported)
