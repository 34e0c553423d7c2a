"""``penstock mapping remove``: removes a registered local schema."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, print_json
from penstock.cli.mapping_options import PublisherOption, SchemaNameArgument
from penstock.cli.options import JsonOption, WorkspaceOption


def remove_mapping(
    schema: SchemaNameArgument,
    *,
    publisher: PublisherOption = None,
    force: ForceRemovalOption = False,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Remove a local schema, after asking; documents that name it then have an unknown schema."""
    from penstock.mediation.mapping_table import ANY_PUBLISHER
    from penstock.workspace import Workspace

    owner = publisher or ANY_PUBLISHER
    with Workspace.open(workspace) as opened:
        opened.mediation.read().mapping_of(owner, schema)  # an unknown one is refused first
        confirm_removal(f"the schema `{schema}`", force=force, as_json=as_json)
        with opened.mediation.changing() as mediator:
            mediator.withdraw(owner, schema)
    if as_json:
        print_json({"removed": schema, "publisher": owner})
    else:
        note(f"removed the schema {schema}")
