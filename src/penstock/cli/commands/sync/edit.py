"""``penstock sync edit``: changes the clone by a statement."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.console import note, print_json, show_error
from penstock.cli.exit_codes import ExitCode
from penstock.cli.options import DefaultNamespaceOption, JsonOption, NamespaceOption, bindings
from penstock.cli.sync_options import CloneOption, errors_of_file, finish_change
from penstock.errors import UpdateError


def edit(
    statement: Annotated[
        str,
        typer.Argument(
            metavar="STATEMENT",
            help='An update, such as \'//price/*!update("9")\' or "/menu/dish[0]!delete()".',
            show_default=False,
        ),
    ],
    *,
    folder: CloneOption = Path(),
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change the clone by an update statement, instead of in an editor. Needs no server.

    What you have changed in the file becomes a statement of its own first.
    """
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        with errors_of_file(directory.file, as_json=as_json):
            directory.take_edits()
        try:
            number = directory.client.update(
                statement, namespaces=bindings(namespace), default_namespace=default_namespace
            )
        except UpdateError as refused:
            show_error(refused, source=statement, as_json=as_json)
            raise typer.Exit(ExitCode.INPUT_REFUSED) from None
        operations = len(directory.client.pending[-1].operations)
        finish_change(directory, "edit", statement)
    if as_json:
        print_json(
            {"type": "edit", "statement": number, "text": statement, "operations": operations}
        )
    else:
        note(f"statement {number}: {operations} operations; push it with `penstock sync push`")
