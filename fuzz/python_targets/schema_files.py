"""Schema files (outlines): printing a tree that was read gives a file with the same tree."""

from __future__ import annotations

from penstock.errors import SchemaError
from penstock.schema.outline import print_tree, read_tree

DICTIONARY = "outlines.dict"


def seeds() -> list[bytes]:
    """Valid schema files."""
    return [
        b"penstock schema 1\n\na\n  @n?\n  b+ text\n    c* ...\n",
        b'penstock schema 1\nnamespace p urn:p\nnamespace q "u r n"\ncut depth_max\n\n'
        b"p:a text\n  @q:k\n  p:b?\n    c\n",
        b"penstock schema 1\ndomain d version 2 after sha256:00\n# remark\na\n  b\n  c?\n",
    ]


def run_input(data: bytes) -> None:
    """Parse ``data`` as a schema file."""
    try:
        tree = read_tree(data.decode("utf-8", errors="replace"))
    except SchemaError:
        return
    assert read_tree(print_tree(tree)) == tree
