"""``penstock sync status``: what is changed and not pushed."""

from __future__ import annotations

from pathlib import Path

from penstock.cli.console import plural, print_json, print_line
from penstock.cli.options import JsonOption
from penstock.cli.sync_options import CloneOption
from penstock.errors import PenstockError


def status(*, folder: CloneOption = Path(), as_json: JsonOption = False) -> None:
    """Show the clone: its version, edits of the file, and statements to push. Needs no server."""
    from penstock.service.sync import WorkingDirectory

    with WorkingDirectory.open(folder) as directory:
        client = directory.client
        problem: PenstockError | None = None
        edits = 0
        if directory.is_cloned:
            try:
                edits = len(directory.edits())
            except PenstockError as refused:
                problem = refused
        pending = [{"number": each.number, "text": each.text} for each in client.pending]
        found = {
            "type": "status",
            "url": str(directory.url),
            "file": str(directory.file),
            "client": client.name,
            "query": client.subscription.query,
            "state": client.status.value,
            "version": client.version,
            "edits": edits,
            "problem": None if problem is None else {"code": problem.code, "message": str(problem)},
            "pending": pending,
        }
    if as_json:
        print_json(found)
        return
    print_line(f"{found['url']}, {found['query']}: version {found['version']}, {found['state']}")
    if problem is not None:
        print_line((f"{found['file']} cannot be pushed: {problem}", "yellow"))
    elif edits:
        print_line(f"{found['file']}: {plural(edits, 'change')}; see `penstock sync diff`")
    else:
        print_line(f"{found['file']}: no changes")
    for each in pending:
        print_line(f"to push: {each['number']} {each['text']}")
