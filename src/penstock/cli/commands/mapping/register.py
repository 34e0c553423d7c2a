"""``penstock mapping register``: registers the mapping of a local schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, out, print_json
from penstock.cli.input_files import read_mapping
from penstock.cli.mapping_options import MappingArgument, PublisherOption, SchemaNameArgument
from penstock.cli.mapping_report import (
    difference_lines,
    differences_as_dict,
    local_schema_as_dict,
)
from penstock.cli.options import JsonOption, WorkspaceOption


def register_mapping(
    schema: SchemaNameArgument,
    mapping: MappingArgument,
    *,
    publisher: PublisherOption = None,
    domain: Annotated[
        str | None, typer.Option(help="Name of the domain; optional if there is only one.")
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Register the mapping of a local schema, and print the mapping's digest.

    It replaces any mapping registered for the schema, and takes effect with the next batch.
    Differences between the rewritten schema and the global one are reported on stderr.
    """
    from penstock.mediation.mapping_table import ANY_PUBLISHER
    from penstock.workspace import Workspace

    found = read_mapping(mapping, as_json=as_json)
    with Workspace.open(workspace) as opened, opened.mediation.changing() as mediator:
        local = mediator.register(
            schema, found, publisher=publisher or ANY_PUBLISHER, domain=domain
        )
        comparison = mediator.comparison(local)
    if as_json:
        print_json({**local_schema_as_dict(local), **differences_as_dict(comparison)})
        return
    out().print(local.digest)
    for line in difference_lines(comparison):
        note(line)
