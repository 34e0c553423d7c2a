"""What the commands write: data to stdout; progress, notes and errors to stderr.

Colour and line width follow the stream: a terminal gets both, a pipe gets neither, and
``NO_COLOR`` is respected by Rich. Nothing is ever wrapped or cut in a pipe.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Annotated, Any, TextIO

import typer
from rich.console import Console
from rich.text import Text

from penstock.errors import PenstockError, Where

WIDTH_OF_A_PIPE = 10_000
"""Columns assumed where the stream is not a terminal: enough that Rich never wraps or cuts."""

_JSON_WANTED = "penstock.json"


class ExitCode(IntEnum):
    """The stable exit codes; documented in docs/reference/exit-codes.md."""

    DONE = 0
    CHECK_FAILED = 1
    USAGE = 2
    REFUSED = 3


def _remember_json(context: typer.Context, value: bool) -> bool:
    # Errors are shown by the group, which never sees its commands' options.
    context.meta[_JSON_WANTED] = value
    return value


JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print JSON instead of text.", callback=_remember_json),
]
"""The ``--json`` that every command has; errors follow it too."""


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else WIDTH_OF_A_PIPE
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def out() -> Console:
    """The console of data. Made anew each time: tests and pipes replace ``sys.stdout``."""
    return _console(sys.stdout)


def err() -> Console:
    """The console of everything that is not data; what went to stdout stands before it."""
    sys.stdout.flush()
    return _console(sys.stderr)


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def where_as_dict(where: Where | None) -> dict[str, int]:
    """The position's fields, none where there is no position."""
    return {} if where is None else where._asdict()


def error_as_dict(error: PenstockError) -> dict[str, Any]:
    """An error as every ``--json`` shows it."""
    return {
        "code": error.code,
        "message": error.message,
        **where_as_dict(error.where),
        "hint": error.hint,
    }


def caret_lines(source: str, where: Where) -> Iterable[str]:
    """The line of ``source`` at fault, and a caret under the character at fault."""
    lines = source.splitlines() or [""]
    line = lines[min(where.line, len(lines)) - 1]
    before = line[: where.column - 1]
    # Tabs stay tabs, so that the caret stands under its character however wide they are shown.
    indent = "".join("\t" if character == "\t" else " " for character in before)
    yield f"    {line}"
    yield f"    {indent}^"


def show_error(
    error: PenstockError,
    *,
    place: str | None = None,
    source: str | None = None,
    as_json: bool = False,
) -> None:
    """Shows an error on stderr: place, message, code, the caret where ``source`` is given, hint.

    ``place`` names the file (``file`` or ``file:line:column``); without it the error's own
    position is told.
    """
    console = err()
    if as_json:
        found = {"error": error_as_dict(error)}
        if place is not None:
            found["error"]["place"] = place
        console.print(json.dumps(found, ensure_ascii=False), soft_wrap=True)
        return
    message = error.message if place is not None else str(error).removesuffix(f" [{error.code}]")
    console.print(
        Text.assemble(
            ("error: ", "bold red"),
            (f"{place}: " if place is not None else "", "bold"),
            message,
            (f" [{error.code}]", "dim"),
        ),
        soft_wrap=True,
    )
    if source is not None and error.where is not None:
        for line in caret_lines(source, error.where):
            console.print(line, soft_wrap=True)
    console.print(Text.assemble(("hint: ", "bold cyan"), error.hint), soft_wrap=True)


def show_failure(message: str, *, hint: str | None = None) -> None:
    """Shows a failure that is no error of the library: a file that cannot be opened, say."""
    console = err()
    console.print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)
    if hint is not None:
        console.print(Text.assemble(("hint: ", "bold cyan"), hint), soft_wrap=True)


def json_wanted(context: typer.Context) -> bool:
    """Whether the command that ran had ``--json``."""
    return bool(context.meta.get(_JSON_WANTED, False))
