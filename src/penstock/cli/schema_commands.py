"""The options of ``penstock schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import A_FILE, DocumentsArgument, JsonOption

schema_app = typer.Typer(
    name="schema",
    no_args_is_help=True,
    help="Look at schemas, and infer them from documents.",
)

RootOption = Annotated[
    str | None,
    typer.Option(metavar="ELEMENT", help="The root, where there are several."),
]


@schema_app.command("infer")
def _infer(
    documents: DocumentsArgument, *, root: RootOption = None, as_json: JsonOption = False
) -> None:
    """Infer a schema from sample documents, and print it as a schema file.

    It says what is narrowest of once, ?, * and + for all samples together.
    """
    from penstock.cli import schemas

    raise typer.Exit(schemas.infer(documents, root=root, as_json=as_json))


@schema_app.command("show")
def _show(
    schema: Annotated[
        Path,
        typer.Argument(help="A .dtd, an .xsd, or a schema file.", show_default=False, **A_FILE),
    ],
    *,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a schema as the tree that mappings are made for."""
    from penstock.cli import schemas

    raise typer.Exit(schemas.show(schema, root=root, as_json=as_json))
