"""``penstock mapping list``: lists the registered local schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from rich.table import Table

from penstock.cli.console import note, plural, print_json, print_table
from penstock.cli.mapping_report import local_schema_as_dict
from penstock.cli.options import JsonOption, WorkspaceOption

DIGEST_CHARACTERS: Final = len("sha256:") + 12
"""How much of a digest the table shows; ``--json`` prints all of it."""


def list_mappings(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """List the registered local schemas with their domains and mappings."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        mediator = opened.mediation.read()
    if as_json:
        for local in mediator.local_schemas:
            print_json(local_schema_as_dict(local))
        return
    table = Table(box=None, pad_edge=False)
    for column in ("schema", "publisher", "domain", "version", "mapping"):
        table.add_column(column, no_wrap=True)
    for local in mediator.local_schemas:
        last = mediator.global_schema(local.domain).version
        version = f"{local.version}" if local.version == last else f"{local.version} of {last}"
        publisher = local.publisher or "(any)"
        digest = local.digest[:DIGEST_CHARACTERS]
        table.add_row(local.name, publisher, local.domain, version, digest)
    if table.row_count:
        print_table(table, fit=False)
    note(plural(table.row_count, "local schema"))
