"""``penstock sync push``: sends changes to the server."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption, NewTokenOption, connection_of, errors_of_file
from penstock.cli.sync_report import show_synchronisation


def push(
    *,
    folder: CloneOption = Path(),
    token_file: NewTokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Send your changes to the server, and bring the file up to date.

    The edited file becomes one statement. Reports say which changes were undone or
    overwritten, by whom and why. After a failure, push again: nothing is lost or done twice.
    """
    from penstock.service.sync import WorkingDirectory, synchronise

    with (
        WorkingDirectory.open(folder) as directory,
        errors_of_file(directory.file, as_json=as_json),
        connection_of(directory, token_file) as connection,
    ):
        done = synchronise(directory, connection, submit=True)
    show_synchronisation(done, command="push", as_json=as_json)
