"""``penstock mapping register``, ``list``, ``show`` and ``remove``: mappings of a workspace."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from rich.table import Table

from penstock.cli.console import ExitCode, note, out, plural, print_json, print_table
from penstock.cli.mappings import differences, in_words, read_mapping
from penstock.mediation import LocalSchema
from penstock.mediation.mapping_table import ANY_PUBLISHER
from penstock.workspace import Workspace

DIGEST: Final = "sha256:"
"""How a digest begins, by which a mapping is told from a schema."""

DIGEST_CHARACTERS: Final = len(DIGEST) + 12
"""So much of a digest is shown in a list; ``--json`` shows it whole."""


def register(
    folder: Path,
    name: str,
    path: Path,
    *,
    publisher: str | None,
    domain: str | None,
    as_json: bool,
) -> ExitCode:
    """Registers a mapping, prints its digest, and tells how the schemas still differ."""
    mapping = read_mapping(path, as_json=as_json)
    with Workspace.open(folder) as workspace, workspace.mediation.changing() as mediator:
        made = mediator.register(name, mapping, publisher=publisher or ANY_PUBLISHER, domain=domain)
        comparison = mediator.comparison(made)
    if as_json:
        print_json({**_as_dict(made), **differences(comparison)})
        return ExitCode.DONE
    out().print(made.digest)
    for line in in_words(comparison):
        note(line)
    return ExitCode.DONE


def show_all(folder: Path, *, as_json: bool) -> ExitCode:
    """A row a local schema."""
    with Workspace.open(folder) as workspace:
        mediator = workspace.mediation.read()
    table = Table(box=None, pad_edge=False)
    for column in ("schema", "publisher", "domain", "version", "mapping"):
        table.add_column(column, no_wrap=True)
    for local in mediator.local_schemas:
        if as_json:
            print_json(_as_dict(local))
        last = mediator.global_schema(local.domain).version
        version = f"{local.version}" if local.version == last else f"{local.version} of {last}"
        publisher = local.publisher or "(any)"
        digest = local.digest[:DIGEST_CHARACTERS]
        table.add_row(local.name, publisher, local.domain, version, digest)
    if not as_json:
        if table.row_count:
            print_table(table)
        note(plural(table.row_count, "local schema"))
    return ExitCode.DONE


def show(folder: Path, name: str, *, publisher: str | None, as_json: bool) -> ExitCode:
    """Prints the mapping of a local schema, or the one of a digest."""
    with Workspace.open(folder) as workspace:
        mediator = workspace.mediation.read()
    if name.startswith(DIGEST):
        mapping = mediator.mapping(name)
    else:
        mapping = mediator.mapping_of(publisher or ANY_PUBLISHER, name)
    if as_json:
        print_json({"mapping": mapping.to_text(), "digest": mapping.digest})
    else:
        sys.stdout.write(mapping.to_text())
    return ExitCode.DONE


def remove(folder: Path, name: str, *, publisher: str | None, as_json: bool) -> ExitCode:
    """Forgets a local schema."""
    owner = publisher or ANY_PUBLISHER
    with Workspace.open(folder) as workspace, workspace.mediation.changing() as mediator:
        mediator.withdraw(owner, name)
    if as_json:
        print_json({"removed": name, "publisher": owner})
    else:
        note(f"the schema {name} is registered no more")
    return ExitCode.DONE


def _as_dict(local: LocalSchema) -> dict[str, object]:
    return {
        "schema": local.name,
        "publisher": local.publisher,
        "domain": local.domain,
        "version": local.version,
        "digest": local.digest,
    }
