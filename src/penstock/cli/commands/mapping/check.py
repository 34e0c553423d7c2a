"""``penstock mapping check``: compares the result of a mapping with the global schema."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from penstock.cli.console import note, print_json, print_table
from penstock.cli.exit_codes import ExitCode
from penstock.cli.input_files import read_mapping, read_schema_tree
from penstock.cli.mapping_options import MappingArgument
from penstock.cli.mapping_report import difference_lines, differences_as_dict
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.schema_options import GlobalSchemaArgument


def check_mapping(
    mapping: MappingArgument,
    target: GlobalSchemaArgument,
    *,
    local: Annotated[
        Path | None,
        typer.Option(
            help="The publisher's schema; checks that the mapping was made for it.",
            **EXISTING_FILE,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the schema that a mapping produces with the global schema.

    Lists the operators, whether each of them blocks (buffers events), and every difference. Exits
    with 1 if rewritten documents would contain elements or attributes that are not in the global
    schema, or if the mapping was made for another local schema.
    """
    from penstock.mediation import compare

    found = read_mapping(mapping, as_json=as_json)
    comparison = compare(found.transformed.tree, read_schema_tree(target, as_json=as_json))
    is_for_local = (
        local is None or read_schema_tree(local, as_json=as_json).root == found.local.root
    )
    blocking = {each: found.is_blocking(each) for each in found.operators}
    if as_json:
        operators = [
            {"operator": found.describe(each), "blocking": blocking[each]}
            for each in found.operators
        ]
        print_json(
            {
                "digest": found.digest,
                "operators": operators,
                "remarks": list(found.transformed.remarks),
                "is_for_local": is_for_local,
                **differences_as_dict(comparison),
            }
        )
    else:
        table = Table(box=None, show_header=False, pad_edge=False)
        for each in found.operators:
            table.add_row(found.describe(each), "blocks" if blocking[each] else "passes")
        print_table(table)
        for line in (*found.transformed.remarks, *difference_lines(comparison)):
            note(line)
        if not is_for_local:
            note(f"the mapping was made for another schema than {local}")
    if comparison.extra or not is_for_local:
        raise typer.Exit(ExitCode.CHECK_FAILED)
