"""``penstock schema show``: prints a schema as a tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.input_files import errors_in, read_schema_tree
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.schema_options import RootOption
from penstock.cli.schema_printer import print_schema

if TYPE_CHECKING:
    from penstock.schema.outline import Edition


def show_schema(
    schema: Annotated[
        Path,
        typer.Argument(
            metavar="SCHEMA",
            help="A .dtd, an .xsd or a schema file.",
            show_default=False,
            **EXISTING_FILE,
        ),
    ],
    *,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a schema as the tree that mappings refer to."""
    tree = read_schema_tree(schema, root=root, as_json=as_json)
    with errors_in(schema, as_json=as_json):
        edition = _edition(schema)
    print_schema(tree, edition, as_json=as_json)


def _edition(schema: Path) -> Edition | None:
    """The domain and version of a global schema, if the file contains one."""
    from penstock.schema.outline import read_outline
    from penstock.schema.schema_files import read_text

    if schema.suffix in (".dtd", ".xsd"):
        return None
    return read_outline(read_text(schema, "schema.file"), "schema", "schema.file").edition
