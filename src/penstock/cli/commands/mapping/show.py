"""``penstock mapping show``: prints a registered mapping."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from penstock.cli.console import print_file, print_json
from penstock.cli.mapping_options import PublisherOption
from penstock.cli.options import JsonOption, WorkspaceOption

DIGEST_PREFIX: Final = "sha256:"
"""Distinguishes the digest of a mapping from the name of a schema."""


def show_mapping(
    schema: Annotated[
        str,
        typer.Argument(
            metavar="SCHEMA",
            help="Name of a schema, or the digest of a mapping.",
            show_default=False,
        ),
    ],
    *,
    publisher: PublisherOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Print the mapping registered for a schema."""
    from penstock.mediation.mapping_table import ANY_PUBLISHER
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        mediator = opened.mediation.read()
    if schema.startswith(DIGEST_PREFIX):
        mapping = mediator.mapping(schema)
    else:
        mapping = mediator.mapping_of(publisher or ANY_PUBLISHER, schema)
    if as_json:
        print_json({"mapping": mapping.to_text(), "digest": mapping.digest})
    else:
        print_file(mapping.to_text())
