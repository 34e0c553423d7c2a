"""``penstock domain``: the global schemas of a workspace."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import typer
from rich.table import Table

from penstock.cli.console import ExitCode, note, out, plural, print_json, print_table
from penstock.cli.refusals import told
from penstock.mediation import GlobalSchema, Mediator
from penstock.schema import read_schema_file
from penstock.schema.outline import read_outline
from penstock.schema.schema_files import read_text
from penstock.workspace import Workspace


def add(folder: Path, path: Path, *, name: str | None, as_json: bool) -> ExitCode:
    """Adds a version, and says which."""
    with (
        Workspace.open(folder) as workspace,
        workspace.mediation.changing() as mediator,
        told(path, as_json=as_json),
    ):
        schema = _schema(mediator, path, name)
        new = mediator.add(schema)
    if as_json:
        print_json({**_as_dict(schema), "new": new})
        return ExitCode.DONE
    known = "" if new else ", which was there already"
    out().print(f"{schema.domain}: version {schema.version}{known}")
    return ExitCode.DONE


def _schema(mediator: Mediator, path: Path, name: str | None) -> GlobalSchema:
    """The global schema of a file; one that does not say its domain is the next version."""
    if path.suffix not in (".dtd", ".xsd"):
        text = read_text(path, "schema.file")
        edition = read_outline(text, "schema", "schema.file").edition
        if edition is not None:
            if name not in (None, edition.domain):
                message = f"the file says that it is of `{edition.domain}`"
                raise typer.BadParameter(message, param_hint="--name")
            return GlobalSchema.from_text(text)
    if name is None:
        raise typer.BadParameter("the file does not say of which domain it is", param_hint="--name")
    return mediator.next_version(name, read_schema_file(path))


def show_all(folder: Path, *, as_json: bool) -> ExitCode:
    """A row a domain."""
    with Workspace.open(folder) as workspace:
        mediator = workspace.mediation.read()
    schemas = Counter(local.domain for local in mediator.local_schemas)
    table = Table(box=None, pad_edge=False)
    for column in ("domain", "version", "local schemas"):
        table.add_column(column, no_wrap=True, justify="left" if column == "domain" else "right")
    for name in mediator.domains:
        last = mediator.global_schema(name)
        if as_json:
            print_json({**_as_dict(last), "local_schemas": schemas[name]})
        table.add_row(name, str(last.version), str(schemas[name]))
    if not as_json:
        if table.row_count:
            print_table(table)
        note(plural(table.row_count, "domain"))
    return ExitCode.DONE


def show(folder: Path, name: str, *, version: int | None, as_json: bool) -> ExitCode:
    """Prints a global schema."""
    with Workspace.open(folder) as workspace:
        schema = workspace.mediation.read().global_schema(name, version)
    if as_json:
        print_json({**_as_dict(schema), "schema": schema.to_text()})
    else:
        sys.stdout.write(schema.to_text())
    return ExitCode.DONE


def remove(folder: Path, name: str, *, as_json: bool) -> ExitCode:
    """Removes a domain."""
    with Workspace.open(folder) as workspace, workspace.mediation.changing() as mediator:
        mediator.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        note(f"the domain {name} is removed")
    return ExitCode.DONE


def _as_dict(schema: GlobalSchema) -> dict[str, object]:
    return {"domain": schema.domain, "version": schema.version, "digest": schema.digest}
