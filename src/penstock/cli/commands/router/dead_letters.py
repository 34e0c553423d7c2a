"""``penstock router dead-letters``: lists the documents that a router refused."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from penstock.cli.console import note, plural, print_document, print_json, print_table
from penstock.cli.options import JsonOption, WorkspaceOption
from penstock.cli.result_format import one_line
from penstock.errors import error

if TYPE_CHECKING:
    from penstock.workspace.router_records import StoredDeadLetter


def dead_letters(
    *,
    workspace: WorkspaceOption = Path(),
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Only documents refused with this error code."),
    ] = None,
    content: Annotated[
        int | None,
        typer.Option(
            metavar="NUMBER", help="Print the document of this dead letter instead, as it arrived."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents that the router of a workspace refused, the latest.

    With --json, also the reports of defects, which contain no document.
    """
    from penstock.workspace import Workspace
    from penstock.workspace.router_store import read_dead_letters

    with Workspace.open(workspace, read_only=True) as opened:
        letters = read_dead_letters(opened.path)
        if content is not None:
            _print_content(letters, content)
            return
        rows = [_dead_letter_row(each) for each in letters if code is None or each.code == code]
    if as_json:
        for row in rows:
            print_json(row)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("number", justify="right")
    for column in ("refused", "document", "code", "message"):
        table.add_column(column)
    for row in rows:
        table.add_row(
            str(row["number"]),
            f"{datetime.fromisoformat(row['refused_at']):%Y-%m-%d %H:%M}",
            row["document"],
            row["code"],
            one_line(row["message"]),
        )
    if rows:
        print_table(table, fit=False)
    note(plural(len(rows), "dead letter"))


def _print_content(letters: Iterable[StoredDeadLetter], number: int) -> None:
    for letter in letters:
        if letter.number == number:
            print_document(letter.document.content)
            return
    raise error("dead-letter.unknown", f"the router has no dead letter {number}")


def _dead_letter_row(letter: StoredDeadLetter) -> dict[str, Any]:
    return {
        "type": "dead letter",
        "number": letter.number,
        "refused_at": letter.refused_at.isoformat(),
        "document": letter.document.identity,
        "publisher": letter.document.header.publisher,
        "bytes": len(letter.document.content),
        "code": letter.code,
        "message": letter.message,
        "report": None if letter.report is None else json.loads(letter.report),
    }
