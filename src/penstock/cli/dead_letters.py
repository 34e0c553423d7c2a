"""``penstock dead-letters``: what was refused and why, and publishing it once more."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from penstock.cli.console import ExitCode, note, out, plural, print_json, print_table
from penstock.cli.mappings import read_mapping
from penstock.cli.results import decoded
from penstock.errors import Where
from penstock.language import with_caret
from penstock.mediation import carrying
from penstock.workspace import Workspace
from penstock.workspace.dead_letters import DeadLetters, Letter, Outcome

LINE_CHARACTERS_MAX = 120
"""How much of the line at fault is shown: documents may be one long line."""

TO_DO = (Outcome.OPEN, Outcome.WAITING)
"""The outcomes that are listed unless all are wanted."""


def show_list(folder: Path, *, code: str | None, everything: bool, as_json: bool) -> ExitCode:
    """A row a dead letter."""
    with Workspace.open(folder) as workspace:
        letters = workspace.dead_letters.all(code)
    shown = [each for each in letters if everything or each.outcome in TO_DO]
    if as_json:
        for letter in shown:
            print_json(as_dict(letter))
        return ExitCode.DONE
    table = Table(box=None, pad_edge=False)
    table.add_column("number", justify="right")
    for column in ("refused", "publisher", "place", "code", "state"):
        table.add_column(column, no_wrap=True)
    for letter in shown:
        table.add_row(
            str(letter.sequence),
            f"{letter.refused_at:%Y-%m-%d %H:%M}",
            letter.publisher,
            "" if letter.where is None else f"{letter.where.line}:{letter.where.column}",
            letter.code,
            state_of(letter),
        )
    if shown:
        print_table(table)
    settled = len(letters) - len(shown)
    told = f"; {settled:,} more are settled, see --all" if settled else ""
    note(f"{plural(len(shown), 'dead letter')}{told}")
    return ExitCode.DONE


def show_one(folder: Path, name: str, *, as_json: bool) -> ExitCode:
    """A dead letter with its reason, the line at fault, and what happened to it."""
    with Workspace.open(folder) as workspace:
        letter = workspace.dead_letters.get(name)
        content = workspace.dead_letters.content(letter)
        history = workspace.dead_letters.history(letter)
    steps = [(step.what, step.sequence, step.at) for step in history]
    if as_json:
        row = as_dict(letter)
        row["hint"] = letter.hint
        row["history"] = [
            {"what": what, "sequence": sequence, "at": None if at is None else at.isoformat()}
            for what, sequence, at in steps
        ]
        print_json(row)
        return ExitCode.DONE
    console = out()
    place = (
        ""
        if letter.where is None
        else f" at line {letter.where.line}, column {letter.where.column}"
    )
    console.print(
        Text.assemble((f"{letter.message}{place}", "bold"), (f" [{letter.code}]", "dim")),
        soft_wrap=True,
    )
    for line in line_at_fault(content, letter.where):
        console.print(f"    {line}", soft_wrap=True)
    console.print(Text.assemble(("hint: ", "bold cyan"), letter.hint), soft_wrap=True)
    console.print(f"document:  {letter.document}", soft_wrap=True)
    console.print(f"size:      {plural(len(content), 'byte')}")
    for number, (what, sequence, at) in enumerate(steps):
        when = "" if at is None else f"{at:%Y-%m-%d %H:%M:%S}  "
        lead = "history:" if number == 0 else ""
        console.print(f"{lead:<11}{when}{what} (number {sequence})", soft_wrap=True)
    return ExitCode.DONE


def replay(
    folder: Path,
    names: Sequence[str],
    *,
    everything: bool,
    code: str | None,
    fixed: Path | None,
    mapping: Path | None,
    as_json: bool,
) -> ExitCode:
    """Publishes dead letters once more; those that were replayed before are left alone."""
    carried = None if mapping is None else carrying(read_mapping(mapping, as_json=as_json))
    with Workspace.open(folder) as workspace:
        letters = _chosen(workspace.dead_letters, names, everything=everything, code=code)
        content = None if fixed is None else fixed.read_bytes()
        done = workspace.dead_letters.replay(letters, content, fields=carried)
    if as_json:
        for letter in done:
            print_json(
                {"sequence": letter.sequence, "document": letter.document, "replay": letter.replay}
            )
        print_json({"type": "summary", "replayed": len(done), "skipped": len(letters) - len(done)})
        return ExitCode.DONE
    for letter in done:
        out().print(f"{letter.sequence} is published again, as {letter.replay}")
    skipped = len(letters) - len(done)
    told = f", {skipped:,} had been replayed before" if skipped else ""
    note(f"{plural(len(done), 'dead letter')} replayed{told}")
    return ExitCode.DONE


def _chosen(
    letters: DeadLetters, names: Sequence[str], *, everything: bool, code: str | None
) -> list[Letter]:
    if everything or code is not None:
        return [each for each in letters.all(code) if each.outcome is Outcome.OPEN]
    return [letters.get(name) for name in names]


def state_of(letter: Letter) -> str:
    """In a few words: what became of it."""
    if letter.replay is None:
        return letter.outcome.value
    return f"{letter.outcome.value}, as {letter.replay}"


def as_dict(letter: Letter) -> dict[str, Any]:
    """A dead letter as ``--json`` shows it."""
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
        "state": letter.outcome.value,
        "replay": letter.replay,
    }


def line_at_fault(content: bytes, where: Where | None) -> list[str]:
    """The line, or the part of it around the position, and a caret; nothing without a position."""
    if where is None:
        return []
    lines = decoded(content).split("\n")
    if where.line > len(lines):
        return []
    line, column = lines[where.line - 1].rstrip("\r"), where.column
    if len(line) > LINE_CHARACTERS_MAX:
        start = max(0, min(column - 1 - LINE_CHARACTERS_MAX // 2, len(line) - LINE_CHARACTERS_MAX))
        line, column = line[start : start + LINE_CHARACTERS_MAX], column - start
    return with_caret(line, Where(0, 1, column)).split("\n")
