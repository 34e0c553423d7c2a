"""``penstock sync undo`` and ``redo``."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import note, print_json
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption, errors_of_file, finish_change


def undo(*, folder: CloneOption = Path(), as_json: JsonOption = False) -> None:
    """Undo your last change: edits of the file that are not pushed, or the last statement.

    What was pushed is undone by a new statement, which has to be pushed. `redo` brings it back.
    """
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        with errors_of_file(directory.file, as_json=as_json):
            directory.take_edits()
        undoable = directory.client.state().undoable
        number = directory.client.undo()
        text = undoable[-1].text
        finish_change(directory, "undo", f"{number} {text}")
    _show("undo", number, text, as_json=as_json)


def redo(*, folder: CloneOption = Path(), as_json: JsonOption = False) -> None:
    """Do again what was undone last."""
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        with errors_of_file(directory.file, as_json=as_json):
            directory.take_edits()
        number = directory.client.redo()
        text = directory.client.pending[-1].text
        finish_change(directory, "redo", f"{number} {text}")
    _show("redo", number, text, as_json=as_json)


def _show(command: str, number: int, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"type": command, "statement": number, "text": text})
    else:
        note(f"{command}: statement {number}, {text}")
