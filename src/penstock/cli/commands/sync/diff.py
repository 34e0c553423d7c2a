"""``penstock sync diff``: what the person has changed in the file."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption, errors_of_file
from penstock.cli.sync_report import show_operation


def diff(*, folder: CloneOption = Path(), as_json: JsonOption = False) -> None:
    """Show the operations that `push` would make of the edited file. Needs no server.

    Positions in paths count from 0, as in the statements of `penstock sync edit`.
    """
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        with errors_of_file(directory.file, as_json=as_json):
            edits = directory.edits()
        for each in edits:
            show_operation(each, as_json=as_json)
