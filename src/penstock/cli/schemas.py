"""``penstock schema``: schemas as trees, read or inferred."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from penstock.cli.console import ExitCode, note, print_json
from penstock.cli.refusals import told
from penstock.cli.samples import sample_files, sum_up
from penstock.documents import Name
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
from penstock.schema.outline import SIGNS, Edition, read_outline
from penstock.schema.schema_files import read_text

SPARK_ADVISED_BYTES: Final = 256 << 20
"""Of more sample documents it is said that Spark could read them. It is never started unasked."""


def infer(documents: Sequence[Path], *, root: str | None, as_json: bool) -> ExitCode:
    """Prints the schema that all documents meet; those that are refused are told and left out."""
    size = sum(path.stat().st_size for path in sample_files(documents))
    if size > SPARK_ADVISED_BYTES:
        note(f"{size >> 20:,} MB are read on one core: `--spark` reads them on all")
    summary, refused = sum_up(documents, SampleSummary.of, SampleSummary(), as_json=as_json)
    print_schema(summary.tree(chosen_root(summary, root)), as_json=as_json)
    return ExitCode.REFUSED if refused else ExitCode.DONE


def chosen_root(summary: SampleSummary, root: str | None) -> Name | None:
    """The root of the samples that is called so."""
    if root is None:
        return None
    named = [name for name in summary.roots() if root in (name.local, str(name))]
    if len(named) != 1:
        raise error("schema.samples", f"no one root of the samples is called {root!r}")
    return named[0]


def show(schema: Path, *, root: str | None, as_json: bool) -> ExitCode:
    """Prints the tree of a schema; of a global one also which it is."""
    with told(schema, as_json=as_json):
        tree = read_schema_file(schema, root=root)
        edition = _edition(schema)
    print_schema(tree, edition, as_json=as_json)
    return ExitCode.DONE


def _edition(schema: Path) -> Edition | None:
    """Which global schema a file holds, if it is one; it could be read."""
    if schema.suffix in (".dtd", ".xsd"):
        return None
    return read_outline(read_text(schema, "schema.file"), "schema", "schema.file").edition


def print_schema(tree: SchemaTree, edition: Edition | None = None, *, as_json: bool) -> None:
    """Prints a tree as a schema file, or as JSON."""
    if not as_json:
        sys.stdout.write(print_tree(tree, edition))
        return
    print_json(
        {
            **({} if edition is None else asdict(edition)),
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
