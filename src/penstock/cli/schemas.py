"""``penstock schema``: schemas as trees, read or inferred."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.cli.console import ExitCode, print_json
from penstock.cli.refusals import told
from penstock.cli.samples import sum_up
from penstock.errors import error
from penstock.schema import (
    NodePath,
    Place,
    SampleSummary,
    SchemaNode,
    SchemaTree,
    print_tree,
    read_schema_file,
)
from penstock.schema.outline import SIGNS


def infer(documents: Sequence[Path], *, root: str | None, as_json: bool) -> ExitCode:
    """Prints the schema that all documents meet; those that are refused are told and left out."""
    summary, refused = sum_up(documents, SampleSummary.of, SampleSummary(), as_json=as_json)
    named = [name for name in summary.roots() if root in (name.local, str(name))]
    if root is not None and len(named) != 1:
        raise error("schema.samples", f"no one root of the samples is called {root!r}")
    _print(summary.tree(named[0] if root is not None else None), as_json=as_json)
    return ExitCode.REFUSED if refused else ExitCode.DONE


def show(schema: Path, *, root: str | None, as_json: bool) -> ExitCode:
    """Prints the tree of a schema."""
    with told(schema, as_json=as_json):
        tree = read_schema_file(schema, root=root)
    _print(tree, as_json=as_json)
    return ExitCode.DONE


def _print(tree: SchemaTree, *, as_json: bool) -> None:
    if not as_json:
        sys.stdout.write(print_tree(tree))
        return
    print_json(
        {
            "nodes": [_as_dict(path, node) for path, node in tree.nodes().items()],
            "cut_at": sorted(tree.cut_at),
            "remarks": list(tree.remarks),
        }
    )


def _as_dict(path: NodePath, node: SchemaNode) -> dict[str, Any]:
    return {
        "path": str(Place(path)),
        "occurs": SIGNS[node.occurs] or "1",
        "text": node.text,
        "attributes": {str(each.name): "1" if each.required else "?" for each in node.attributes},
        "cut": node.cut,
    }
