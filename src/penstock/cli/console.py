"""What the commands write: data to stdout; progress, notes and errors to stderr.

Colour and line width follow the stream: a terminal gets both, a pipe gets neither, and
``NO_COLOR`` is respected by Rich. Nothing is ever wrapped or cut in a pipe.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, TextIO, TypeVar

import typer
from rich.console import Console
from rich.progress import track
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from penstock.errors import PenstockError

WIDTH_OF_A_PIPE = 10_000
"""Columns assumed where the stream is not a terminal: enough that Rich never wraps or cuts."""

T = TypeVar("T")

JSON_WANTED = "penstock.json"
"""Where a context keeps whether its command had ``--json``."""


class ExitCode(IntEnum):
    """The stable exit codes; documented in docs/reference/exit-codes.md."""

    DONE = 0
    CHECK_FAILED = 1
    USAGE = 2
    REFUSED = 3


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


def print_table(table: Table) -> None:
    """A table on stdout, without the blanks that Rich pads every line with."""
    console = out()
    for line in console.render_lines(table, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="")


def print_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")


def error_as_dict(error: PenstockError) -> dict[str, Any]:
    """An error as every ``--json`` shows it."""
    return {
        "code": error.code,
        "message": error.message,
        **({} if error.where is None else error.where._asdict()),
        "hint": error.hint,
    }


def place_of(path: Path, error: PenstockError) -> str:
    """``file:line:column``, or the file alone where the error has no position."""
    where = error.where
    return str(path) if where is None else f"{path}:{where.line}:{where.column}"


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
        # Most commands never show a query: its package is imported only where one is shown.
        from penstock.language import with_caret

        for line in with_caret(source, error.where).splitlines():
            console.print(f"    {line}", soft_wrap=True)
    console.print(Text.assemble(("hint: ", "bold cyan"), error.hint), soft_wrap=True)


def note(message: str) -> None:
    """A remark on stderr."""
    err().print(message, style="dim", soft_wrap=True)


def plural(count: int, one: str, many: str | None = None) -> str:
    """``1 document``, ``1,000 documents``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def progress(items: Sequence[T], what: str) -> Iterable[T]:
    """The items, with a bar on stderr while a terminal watches it."""
    console = _console(sys.stderr)
    if not console.is_terminal or sys.stdout.isatty():
        # Where the data itself goes to the terminal, it is the progress.
        return items
    return track(items, description=what, console=console, transient=True)


def show_failure(message: str, *, as_json: bool) -> None:
    """Shows a failure that is no error of the library: a file that cannot be opened, say."""
    if as_json:
        err().print(json.dumps({"error": {"message": message}}, ensure_ascii=False), soft_wrap=True)
    else:
        err().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def show_warning(message: Warning | str, *_code: object, **_line: object) -> None:
    """Shows a warning; where in the code it arose is nothing to who runs a command."""
    err().print(Text.assemble(("warning: ", "bold yellow"), str(message)), soft_wrap=True)


def json_wanted(context: typer.Context) -> bool:
    """Whether the command that ran had ``--json``."""
    return bool(context.meta.get(JSON_WANTED, False))
