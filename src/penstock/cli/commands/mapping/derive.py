"""``penstock mapping derive``: derives a mapping from a matching of two schemas."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, plural, print_file, print_json
from penstock.cli.input_files import errors_in, read_schema_tree
from penstock.cli.mapping_report import difference_lines, differences_as_dict
from penstock.cli.options import EXISTING_FILE, JsonOption
from penstock.cli.schema_options import GlobalSchemaArgument, LocalSchemaArgument


def derive_mapping(
    local: LocalSchemaArgument,
    target: GlobalSchemaArgument,
    matching: Annotated[
        Path,
        typer.Argument(
            metavar="MATCHING",
            help="A matching file of the two schemas.",
            show_default=False,
            **EXISTING_FILE,
        ),
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Derive a mapping from a schema matching, and print it.

    Pairs that the derivation rules cannot reach, and remaining differences between the schemas,
    are reported on stderr.
    """
    from penstock.mediation import SchemaMatching, derive
    from penstock.schema.schema_files import read_text

    local_tree, global_tree = (read_schema_tree(path, as_json=as_json) for path in (local, target))
    with errors_in(matching, as_json=as_json):
        pairs = SchemaMatching.from_text(read_text(matching, "mapping.matching"))
        found = derive(local_tree, global_tree, pairs)
    unreached = [str(each) for each in found.unreached]
    remarks = list(found.mapping.transformed.remarks)
    if as_json:
        print_json(
            {
                "mapping": found.mapping.to_text(),
                "digest": found.mapping.digest,
                "unreached": unreached,
                "remarks": remarks,
                "separate": [str(each) for each in found.separate],
                **differences_as_dict(found.comparison),
            }
        )
        return
    print_file(found.mapping.to_text())
    if pairs.uncertain:
        note(f"the matching has {plural(len(pairs.uncertain), 'uncertain pair')}")
    for each in unreached:
        note(f"not reached: {each}")
    for each in (*map(str, found.separate), *remarks, *difference_lines(found.comparison)):
        note(each)
