"""Reads schema files; the suffix determines the format."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import Where, error
from penstock.schema.graph import SchemaGraph
from penstock.schema.limits import FILE_BYTES_MAX, UNFOLD_LIMITS, UnfoldLimits
from penstock.schema.outline import read_tree
from penstock.schema.tree import SchemaTree


def read_schema_file(
    path: str | Path, *, root: str | None = None, limits: UnfoldLimits = UNFOLD_LIMITS
) -> SchemaTree:
    """The tree of a ``.dtd``, ``.xsd`` or outline file (see :func:`~penstock.schema.print_tree`).

    ``root`` selects the root if a DTD or XSD has several.
    """
    path = Path(path)
    if path.suffix == ".dtd":
        graph = SchemaGraph.from_dtd_file(path, roots=[root] if root else None)
        if len(graph.root_labels) > 1:
            listed = ", ".join(map(repr, graph.root_labels))
            raise error("schema.root", f"the DTD has several roots: {listed}")
        return graph.tree(limits=limits)
    if path.suffix == ".xsd":
        # Imported lazily: importing xmlschema takes a second.
        from penstock.schema.xsd import tree_from_xsd  # noqa: PLC0415

        return tree_from_xsd(path, root=root, limits=limits)
    return read_tree(read_text(path, "schema.file"))


def read_text(path: Path, code: str) -> str:
    """The text of a UTF-8 file; raises an error with this code for other encodings."""
    if path.stat().st_size > FILE_BYTES_MAX:
        raise error(code, f"the file is longer than {FILE_BYTES_MAX} bytes", Where(0, 1, 1))
    data = path.read_bytes()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as failure:
        before = data[: failure.start]
        where = Where(failure.start, before.count(b"\n") + 1, 1)
        raise error(code, "the file is not UTF-8", where) from failure
