"""Arguments and options that the mapping commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import EXISTING_FILE

MappingArgument = Annotated[
    Path,
    typer.Argument(metavar="MAPPING", help="A mapping file.", show_default=False, **EXISTING_FILE),
]
SchemaNameArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCHEMA",
        help="Name of the schema, as used in document headers.",
        show_default=False,
    ),
]
PublisherOption = Annotated[
    str | None,
    typer.Option(help="Publisher that uses the schema (default: any publisher)."),
]
