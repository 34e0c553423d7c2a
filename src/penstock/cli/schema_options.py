"""Arguments and options that the commands on schemas and mappings share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.options import EXISTING_FILE

EXISTING_PATH: dict[str, Any] = {"exists": True, "readable": True}

RootOption = Annotated[
    str | None,
    typer.Option(metavar="ELEMENT", help="The root element, if there are several candidates."),
]
LocalSchemaArgument = Annotated[
    Path,
    typer.Argument(
        metavar="LOCAL",
        help="The publisher's schema: a .dtd, an .xsd or a schema file.",
        show_default=False,
        **EXISTING_FILE,
    ),
]
GlobalSchemaArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GLOBAL",
        help="The global schema: a .dtd, an .xsd or a schema file.",
        show_default=False,
        **EXISTING_FILE,
    ),
]
AbbreviationsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file that expands abbreviations, translates words, and lists synonyms.",
        **EXISTING_FILE,
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of stdout."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
