"""``penstock dead-letters``: lists refused documents and replays them."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from penstock.cli.console import note, out, plural, print_json, print_table
from penstock.cli.document_text import decode_for_display
from penstock.cli.input_files import read_mapping
from penstock.cli.options import EXISTING_FILE, JsonOption, WorkspaceOption, header_fields
from penstock.errors import Where, error

if TYPE_CHECKING:
    from penstock.workspace.dead_letters import DeadLetter, DeadLetters

LINE_CHARACTERS_MAX = 120
"""Length limit of the printed source line; a document may be one long line."""

dead_letters_app = typer.Typer(
    name="dead-letters",
    no_args_is_help=True,
    help="Inspect documents that were refused, and publish them again.",
)

CodeOption = Annotated[
    str | None,
    typer.Option(metavar="CODE", help="Only documents refused with this error code."),
]


@dead_letters_app.command("list")
def list_letters(
    *,
    workspace: WorkspaceOption = Path(),
    code: CodeOption = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Also list those settled by a replay.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """List dead letters by number."""
    from penstock.workspace import Workspace
    from penstock.workspace.dead_letters import ReplayOutcome

    with Workspace.open(workspace) as opened:
        letters = opened.dead_letters.all(code)
    unsettled = (ReplayOutcome.OPEN, ReplayOutcome.WAITING)
    shown = [each for each in letters if everything or each.outcome in unsettled]
    if as_json:
        for letter in shown:
            print_json(_as_dict(letter))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("number", justify="right")
    for column in ("refused", "publisher", "file", "place", "element", "code", "state"):
        table.add_column(column, no_wrap=True)
    for letter in shown:
        table.add_row(
            str(letter.sequence),
            f"{letter.refused_at:%Y-%m-%d %H:%M}",
            letter.publisher,
            letter.file or "",
            "" if letter.where is None else f"{letter.where.line}:{letter.where.column}",
            letter.path or "",
            letter.code,
            _state(letter),
        )
    if shown:
        print_table(table, fit=False)
    settled = len(letters) - len(shown)
    more = f"; --all lists {settled:,} more that are settled" if settled else ""
    note(f"{plural(len(shown), 'dead letter')}{more}")


@dead_letters_app.command("show")
def show(
    letter: Annotated[
        str,
        typer.Argument(
            metavar="LETTER",
            help="Number of the dead letter, or identity of the document.",
            show_default=False,
        ),
    ],
    *,
    workspace: WorkspaceOption = Path(),
    report: Annotated[
        bool,
        typer.Option(
            "--report",
            help="Print the report of an internal error as JSON, to be sent to the maintainers.",
        ),
    ] = False,
    with_content: Annotated[
        bool,
        typer.Option("--with-content", help="Include the document in the report, in Base64."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show why and where a document was refused, and its history."""
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        found = opened.dead_letters.get(letter)
        content = opened.dead_letters.content(found)
        history = opened.dead_letters.history(found)
    if report or with_content:
        _print_report(found, content if with_content else None)
        return
    steps = [(step.what, step.sequence, step.at) for step in history]
    if as_json:
        row = _as_dict(found)
        row["hint"] = found.hint
        row["history"] = [
            {"what": what, "sequence": sequence, "at": None if at is None else at.isoformat()}
            for what, sequence, at in steps
        ]
        print_json(row)
        return
    console = out()
    where = found.where
    place = "" if where is None else f" at line {where.line}, column {where.column}"
    console.print(
        Text.assemble((f"{found.message}{place}", "bold"), (f" [{found.code}]", "dim")),
        soft_wrap=True,
    )
    for line in source_line(content, where):
        console.print(f"    {line}", soft_wrap=True)
    console.print(Text.assemble(("hint: ", "bold cyan"), found.hint), soft_wrap=True)
    console.print(f"document:  {found.document}", soft_wrap=True)
    if found.file is not None:
        console.print(f"file:      {found.file}", soft_wrap=True)
    if found.path is not None:
        console.print(f"element:   {found.path}", soft_wrap=True)
    console.print(f"size:      {plural(len(content), 'byte')}")
    for number, (what, sequence, at) in enumerate(steps):
        when = "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}  "
        lead = "history:" if number == 0 else ""
        console.print(f"{lead:<11}{when}{what} (number {sequence})", soft_wrap=True)


@dead_letters_app.command("replay")
def replay(
    letters: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="LETTER", help="Numbers or document identities.", show_default=False
        ),
    ] = None,
    *,
    workspace: WorkspaceOption = Path(),
    everything: Annotated[
        bool, typer.Option("--all", help="Replay all that have not been replayed yet.")
    ] = False,
    code: CodeOption = None,
    fixed: Annotated[
        Path | None,
        typer.Option(
            "--with",
            help="A corrected file to publish under the identity of the document.",
            **EXISTING_FILE,
        ),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file to send along, replacing the one that was sent.", **EXISTING_FILE
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="FIELD=VALUE",
            help="A header field to add or replace (repeatable).",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Publish dead letters again, optionally with a corrected document or another mapping.

    A document keeps its identity and gets a new number. Each dead letter can be replayed once: a
    document that is refused again becomes a new dead letter.
    """
    from penstock.mediation import carrying
    from penstock.workspace import Workspace

    if bool(letters) + everything + (code is not None) != 1:
        raise typer.BadParameter("name dead letters, or give --all or --code")
    if fixed is not None and len(letters or ()) != 1:
        raise typer.BadParameter(
            "a corrected file replaces a single dead letter", param_hint="--with"
        )
    carried = {} if mapping is None else carrying(read_mapping(mapping, as_json=as_json))
    changed = {**header_fields(header), **carried}
    with Workspace.open(workspace) as opened:
        chosen = _chosen(opened.dead_letters, letters or (), everything=everything, code=code)
        content = None if fixed is None else fixed.read_bytes()
        done = opened.dead_letters.replay(chosen, content, fields=changed)
    skipped = len(chosen) - len(done)
    if as_json:
        for letter in done:
            print_json(
                {"sequence": letter.sequence, "document": letter.document, "replay": letter.replay}
            )
        print_json({"type": "summary", "replayed": len(done), "skipped": skipped})
        return
    for letter in done:
        out().print(f"{letter.sequence} published again as {letter.replay}")
    already = f", {skipped:,} skipped (replayed before)" if skipped else ""
    note(f"{plural(len(done), 'dead letter')} replayed{already}")


def _chosen(
    letters: DeadLetters, names: Sequence[str], *, everything: bool, code: str | None
) -> list[DeadLetter]:
    from penstock.workspace.dead_letters import ReplayOutcome

    if everything or code is not None:
        return [each for each in letters.all(code) if each.outcome is ReplayOutcome.OPEN]
    return [letters.get(name) for name in names]


def _print_report(letter: DeadLetter, content: bytes | None) -> None:
    if letter.report is None:
        raise error(
            "dead-letter.report",
            f"dead letter {letter.sequence} was refused with {letter.code}, which is not"
            " an internal error",
        )
    row = {"code": letter.code, **json.loads(letter.report)}
    if content is not None:
        row["document"]["content_base64"] = base64.b64encode(content).decode()
    print_json(row)


def _state(letter: DeadLetter) -> str:
    if letter.replay is None:
        return letter.outcome.value
    return f"{letter.outcome.value}, as {letter.replay}"


def _as_dict(letter: DeadLetter) -> dict[str, Any]:
    return {
        "sequence": letter.sequence,
        "document": letter.document,
        "publisher": letter.publisher,
        "schema": letter.schema,
        "fields": dict(letter.fields),
        "published_at": letter.published_at.isoformat(),
        "refused_at": letter.refused_at.isoformat(),
        "code": letter.code,
        "message": letter.message,
        **({} if letter.where is None else letter.where._asdict()),
        "file": letter.file,
        "path": letter.path,
        "report": None if letter.report is None else json.loads(letter.report),
        "state": letter.outcome.value,
        "replay": letter.replay,
    }


def source_line(content: bytes, where: Where | None) -> list[str]:
    """The line at a position, cut to the limit, with a caret below it."""
    from penstock.language import with_caret

    if where is None:
        return []
    lines = decode_for_display(content).split("\n")
    if where.line > len(lines):
        return []
    line, column = lines[where.line - 1].rstrip("\r"), where.column
    if len(line) > LINE_CHARACTERS_MAX:
        start = max(0, min(column - 1 - LINE_CHARACTERS_MAX // 2, len(line) - LINE_CHARACTERS_MAX))
        line, column = line[start : start + LINE_CHARACTERS_MAX], column - start
    return with_caret(line, Where(0, 1, column)).split("\n")
