"""Generates the limits reference from the limit modules: name, default, docstring."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from itertools import pairwise
from pathlib import Path

from markdown_pages import ROOT

PACKAGE = ROOT / "src" / "penstock"

SOURCES = {
    "Documents": "documents/limits.py",
    "Queries": "language/limits.py",
    "Schemas": "schema/limits.py",
    "Matching": "matching/limits.py",
    "Mediation": "mediation/limits.py",
    "Links": "links/limits.py",
    "Routing": "routing/limits.py",
    "Synchronisation": "sync/limits.py",
    "Overlay": "overlay/limits.py",
    "Workspaces": "workspace/limits.py",
    "Pipeline": "pipeline/limits.py",
    "Router processes": "service/router/limits.py",
    "Synchronisation over HTTP": "service/sync/limits.py",
    "Peer processes": "service/peer/limits.py",
}
"""Maps each heading to the module whose limits it lists."""

HEAD = """\
# Limits

Every resource has a named limit. A document, query or schema that exceeds a limit is refused with
an error that names the limit, unless its description says otherwise.
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """A named limit with its default and description."""

    name: str
    default: str
    meaning: str


def limits_page() -> str:
    """Returns the page: every limit with its default and meaning."""
    lines = [HEAD]
    for heading, source in SOURCES.items():
        rows = list(limits_in(PACKAGE / source))
        assert rows, f"{source} defines no limit"
        lines += [f"## {heading}\n", "| limit | default | meaning |", "|---|---|---|"]
        lines += [f"| `{row.name}` | {row.default} | {row.meaning} |" for row in rows]
        lines.append("")
    return "\n".join(lines)


def limits_in(path: Path) -> Iterator[Limit]:
    """Yields the constants and dataclass fields of a module that are integers with a docstring."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    module = importlib.import_module(
        ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    )
    values = {name: value for name, value in vars(module).items() if name.isupper()}
    yield from _described(tree.body, values, "")
    for node in tree.body:
        owner = vars(module).get(node.name) if isinstance(node, ast.ClassDef) else None
        if owner is not None and is_dataclass(owner) and isinstance(node, ast.ClassDef):
            defaults = {field.name: field.default for field in fields(owner)}
            yield from _described(node.body, defaults, f"{node.name}.")


def _described(
    body: Sequence[ast.stmt], values: Mapping[str, object], owner: str
) -> Iterator[Limit]:
    for statement, following in pairwise(body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        if not isinstance(following, ast.Expr) or not isinstance(following.value, ast.Constant):
            continue
        value = values.get(statement.target.id)
        if isinstance(value, int):
            meaning = " ".join(str(following.value.value).split()).replace("``", "`")
            yield Limit(owner + statement.target.id, f"{value:,}", meaning.replace("|", "\\|"))
