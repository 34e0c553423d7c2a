"""Prints a schema tree as a schema file or as JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from penstock.cli.console import print_file, print_json

if TYPE_CHECKING:
    from penstock.schema import NodePath, SchemaNode, SchemaTree
    from penstock.schema.outline import Edition


def print_schema(tree: SchemaTree, edition: Edition | None = None, *, as_json: bool) -> None:
    """Prints a tree; ``edition`` is the domain and version of a global schema."""
    from penstock.schema import print_tree

    if not as_json:
        print_file(print_tree(tree, edition))
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
    from penstock.schema import Place
    from penstock.schema.outline import SIGNS

    return {
        "path": str(Place(path)),
        "occurs": SIGNS[node.occurs] or "1",
        "text": node.text,
        "attributes": {str(each.name): "1" if each.required else "?" for each in node.attributes},
        "cut": node.cut,
    }
