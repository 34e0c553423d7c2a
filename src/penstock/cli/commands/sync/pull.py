"""``penstock sync pull``: brings the file up to date."""

from __future__ import annotations

import random
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from penstock.cli.console import note, show_error
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption, NewTokenOption, connection_of, errors_of_file
from penstock.cli.sync_report import show_synchronisation
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.service.sync import SyncConnection
    from penstock.sync.messages import Message


def pull(
    *,
    folder: CloneOption = Path(),
    discard: Annotated[
        bool,
        typer.Option(
            "--discard",
            help="Give up the edits of the file that are in no statement; a copy stays in"
            " `.penstock/discarded.xml`.",
        ),
    ] = False,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Stay connected, and pull changes at once, until Ctrl-C."),
    ] = False,
    token_file: NewTokenOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the file up to date, and send nothing.

    Your edits of the file are kept: they become a statement, which is applied to the new version
    and waits for `push`.
    """
    from penstock.service.sync import WorkingDirectory

    is_restored = False
    with WorkingDirectory.open(folder) as directory:
        if discard:
            is_missing = directory.is_cloned and not directory.file.exists()
            kept = directory.discard_edits()
            is_restored = is_missing or kept is not None
            if kept is not None:
                note(f"your edits are kept in {kept}")
        connection = connection_of(directory, token_file)
        root, client = directory.folder, directory.client.name
    with connection:
        _pull(root, connection, (), is_quiet=False, is_restored=is_restored, as_json=as_json)
        if follow:
            _follow(root, client, connection, as_json=as_json)


def _pull(
    folder: Path,
    connection: SyncConnection,
    pushed: tuple[Message, ...],
    *,
    is_quiet: bool,
    is_restored: bool = False,
    as_json: bool,
) -> None:
    """Pulls once; a quiet one prints only news."""
    from penstock.service.sync import WorkingDirectory, synchronise

    with (
        WorkingDirectory.open(folder) as directory,
        errors_of_file(directory.file, as_json=as_json),
    ):
        done = synchronise(directory, connection, submit=False, pushed=pushed)
    if not is_quiet or done.reports or done.version != done.since:
        show_synchronisation(done, command="pull", is_restored=is_restored, as_json=as_json)
        sys.stdout.flush()


def _follow(folder: Path, client: str, connection: SyncConnection, *, as_json: bool) -> None:
    """Pulls whenever the server sends a message; ends by a signal."""
    from penstock.links import BackOff
    from penstock.service.sync.http_client import TEMPORARY

    def stop(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    back_off = BackOff(random.Random())
    try:
        while True:
            try:
                for messages in connection.stream(client):
                    _pull(folder, connection, messages or (), is_quiet=True, as_json=as_json)
                    back_off.reset()
            except typer.Exit:
                pass  # the edited file cannot be read now; that was reported
            except PenstockError as problem:
                if problem.code not in TEMPORARY:
                    raise
                show_error(problem, as_json=as_json)
            time.sleep(back_off.next_seconds())
    except KeyboardInterrupt:
        note("stopped")
