"""``penstock domain``: manages the domains of a workspace and their global schemas."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, out, plural, print_file, print_json, print_table
from penstock.cli.input_files import errors_in
from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.schema_options import GlobalSchemaArgument

if TYPE_CHECKING:
    from penstock.mediation import GlobalSchema, Mediator

domain_app = typer.Typer(
    name="domain",
    no_args_is_help=True,
    help="Manage domains; the global schema of a domain is what subscriptions are written for.",
)

DomainArgument = Annotated[
    str, typer.Argument(metavar="DOMAIN", help="Name of the domain.", show_default=False)
]


@domain_app.command("add")
def add(
    schema: GlobalSchemaArgument,
    *,
    name: Annotated[
        str | None,
        typer.Option(help="Name of the domain, if the file does not contain it."),
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Add a domain, or the next version of its global schema.

    A new version must keep every place of the previous one, so that subscriptions stay valid.
    """
    from penstock.workspace import Workspace

    with (
        Workspace.open(workspace) as opened,
        opened.mediation.changing() as mediator,
        errors_in(schema, as_json=as_json),
    ):
        added = _global_schema(mediator, schema, name)
        new = mediator.add(added)
    if as_json:
        print_json({**_as_dict(added), "new": new})
        return
    known = "" if new else " (already known)"
    out().print(f"{added.domain}: version {added.version}{known}")


def _global_schema(mediator: Mediator, path: Path, name: str | None) -> GlobalSchema:
    """Reads a global schema; one that does not name its domain becomes the next version."""
    from penstock.mediation import GlobalSchema
    from penstock.schema import read_schema_file
    from penstock.schema.outline import read_outline
    from penstock.schema.schema_files import read_text

    if path.suffix not in (".dtd", ".xsd"):
        text = read_text(path, "schema.file")
        edition = read_outline(text, "schema", "schema.file").edition
        if edition is not None:
            if name not in (None, edition.domain):
                message = f"the file belongs to the domain `{edition.domain}`"
                raise typer.BadParameter(message, param_hint="--name")
            return GlobalSchema.from_text(text)
    if name is None:
        raise typer.BadParameter("the file does not name its domain", param_hint="--name")
    return mediator.next_version(name, read_schema_file(path))


@domain_app.command("list")
def list_domains(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """List the domains with their latest version and number of local schemas."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        mediator = opened.mediation.read()
    local_schemas = Counter(local.domain for local in mediator.local_schemas)
    table = Table(box=None, pad_edge=False)
    for column in ("domain", "version", "local schemas"):
        table.add_column(column, no_wrap=True, justify="left" if column == "domain" else "right")
    for name in mediator.domains:
        latest = mediator.global_schema(name)
        if as_json:
            print_json({**_as_dict(latest), "local_schemas": local_schemas[name]})
        table.add_row(name, str(latest.version), str(local_schemas[name]))
    if not as_json:
        if table.row_count:
            print_table(table, fit=False)
        note(plural(table.row_count, "domain"))


@domain_app.command("show")
def show(
    name: DomainArgument,
    *,
    version: Annotated[int | None, typer.Option(min=1, help="Version (default: latest).")] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Print the global schema of a domain as a schema file."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        schema = opened.mediation.read().global_schema(name, version)
    if as_json:
        print_json({**_as_dict(schema), "schema": schema.to_text()})
    else:
        print_file(schema.to_text())


@domain_app.command("remove")
def remove(
    name: DomainArgument,
    *,
    force: ForceRemovalOption = False,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Remove a domain that has no local schemas, after asking."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        opened.mediation.read().remove(name)  # on a copy: refuses what cannot be removed
        confirm_removal(f"the domain `{name}`", force=force, as_json=as_json)
        with opened.mediation.changing() as mediator:
            mediator.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        note(f"removed the domain {name}")


def _as_dict(schema: GlobalSchema) -> dict[str, object]:
    return {"domain": schema.domain, "version": schema.version, "digest": schema.digest}
