"""The repository as its own tidy tests see it: files, modules, imports."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"
NATIVE = ROOT / "native"
DOCS = ROOT / "docs"


@cache
def files() -> tuple[Path, ...]:
    """Every file that is, or would be, committed."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return tuple(sorted(path for path in paths if path.is_file()))


def files_under(folder: Path, *suffixes: str) -> list[Path]:
    """Files below ``folder`` with one of the suffixes, all of them where none is given."""
    return [
        path
        for path in files()
        if path.is_relative_to(folder) and (not suffixes or path.suffix in suffixes)
    ]


def relative(path: Path) -> str:
    """The path as people name it."""
    return path.relative_to(ROOT).as_posix()


def module_name(path: Path) -> str:
    """The dotted name of a module under src."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> dict[str, Path]:
    """Every Python module of the package by its dotted name."""
    return {module_name(path): path for path in files_under(SOURCE, ".py")}


@cache
def syntax_tree(path: Path) -> ast.Module:
    """The parsed module."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def imports(path: Path) -> Iterator[str]:
    """Every module that ``path`` imports, wherever in it the import stands.

    Of ``from package import name`` both ``package.name``, where that is a module of Penstock, and
    ``package`` otherwise. Relative imports are refused by the tidy test, so they do not occur.
    """
    for node in ast.walk(syntax_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module is not None:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in modules() or alias.name == "_native" else node.module
