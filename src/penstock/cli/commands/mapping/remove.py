"""``penstock mapping remove``: removes a registered local schema."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import note, print_json
from penstock.cli.mapping_options import PublisherOption, SchemaNameArgument
from penstock.cli.options import JsonOption, WorkspaceOption


def remove_mapping(
    schema: SchemaNameArgument,
    *,
    publisher: PublisherOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Remove a local schema; documents that name it then have an unknown schema."""
    from penstock.mediation.mapping_table import ANY_PUBLISHER
    from penstock.workspace import Workspace

    owner = publisher or ANY_PUBLISHER
    with Workspace.open(workspace) as opened, opened.mediation.changing() as mediator:
        mediator.withdraw(owner, schema)
    if as_json:
        print_json({"removed": schema, "publisher": owner})
    else:
        note(f"removed the schema {schema}")
