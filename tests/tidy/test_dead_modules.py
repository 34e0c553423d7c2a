"""Every Python module is imported by another one, or is an entry point."""

from __future__ import annotations

from penstock.lab.bench import BENCHES
from support.fixtures.repository import imports, modules

ENTRY_POINTS = {
    "penstock",  # the façade
    "penstock.__main__",  # python -m penstock
    "penstock.cli",  # the console script of pyproject.toml
    *(f"penstock.lab.bench.{name}" for name in BENCHES),  # imported by name
}


def test_every_python_module_is_imported_by_another_or_is_an_entry_point() -> None:
    used = {
        name
        for importer, path in modules().items()
        for imported in imports(path)
        for name in (imported, *_parents(imported))
        if name != importer
    }
    assert sorted(set(modules()) - used - ENTRY_POINTS) == []


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts))]
