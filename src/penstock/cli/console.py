"""Output of the commands: data goes to stdout; progress, notes and errors go to stderr.

Rich adapts colour and line width to the stream and respects ``NO_COLOR``. Output to a pipe has no
colour and is never wrapped or cut. All text passes through :mod:`penstock.cli.terminal_text`; no
other module writes to the streams.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeVar

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import track
from rich.segment import Segment, Segments
from rich.table import Table
from rich.text import Text

from penstock.cli.document_text import decode_for_display
from penstock.cli.terminal_text import visible, visible_json
from penstock.errors import DocumentError, PenstockError

PIPE_WIDTH = 10_000
"""Columns assumed for a stream that is not a terminal, so that Rich never wraps or cuts."""

T = TypeVar("T")

JSON_WANTED = "penstock.json"
"""Key in the Click context that records whether the command was given ``--json``."""


class SafeConsole(Console):
    """A console that prints control characters of the text as visible escapes."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders as Rich does; escape sequences that Rich itself adds are not part of the text."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(visible(segment.text), segment.style)


def _console(stream: TextIO) -> Console:
    width = None if stream.isatty() else PIPE_WIDTH
    return SafeConsole(file=stream, width=width, highlight=False, markup=False, emoji=False)


def out() -> Console:
    """The console for data. Created per call because tests replace ``sys.stdout``."""
    return _console(sys.stdout)


def err() -> Console:
    """The console for everything else. Flushes stdout first, which keeps the two in order."""
    sys.stdout.flush()
    return _console(sys.stderr)


def print_table(table: Table, *, fit: bool = True) -> None:
    """Prints a table to stdout without the trailing spaces that Rich adds to each line.

    With ``fit``, columns of a wide table become narrower, as far as they may wrap. Without it,
    rows have their full length and the terminal wraps them: Rich would cut the columns of a list,
    down to nothing.
    """
    console = out()
    options = console.options if fit else console.options.update(width=PIPE_WIDTH)
    for line in console.render_lines(table, options, pad=False):
        while line and not line[-1].text.strip():
            line.pop()
        if line:
            line[-1] = Segment(line[-1].text.rstrip(), line[-1].style)
        console.print(Segments([*line, Segment.line()]), end="", soft_wrap=True)


def print_line(*parts: str | tuple[str, str]) -> None:
    """Prints one line of data; a part is text, or text with a style.

    Without colour, the text is written directly: Rich takes longer per line than matching does per
    document.
    """
    if sys.stdout.isatty() or "FORCE_COLOR" in os.environ:
        out().print(Text.assemble(*parts), soft_wrap=True)
        return
    text = "".join(part if isinstance(part, str) else part[0] for part in parts)
    sys.stdout.write(visible(text) + "\n")


def print_file(text: str) -> None:
    """Prints the contents of a file; unchanged unless stdout is a terminal."""
    sys.stdout.write(visible(text) if sys.stdout.isatty() else text)


def print_document(content: bytes) -> None:
    """Prints a document: its bytes, or on a terminal readable text."""
    if sys.stdout.isatty():
        print_file(decode_for_display(content))
    else:
        typer.echo(content, nl=False)


def print_json(value: Mapping[str, Any]) -> None:
    """Prints a JSON object on one line of stdout."""
    sys.stdout.write(json_line(value))


def json_line(value: Mapping[str, Any]) -> str:
    """A JSON object as a line of JSON Lines, safe to print on a terminal."""
    return visible_json(json.dumps(value, ensure_ascii=False)) + "\n"


def error_as_dict(error: PenstockError) -> dict[str, Any]:
    """The JSON form of an error."""
    return {
        "code": error.code,
        "message": error.message,
        **({} if error.where is None else error.where._asdict()),
        **_details(error),
        "hint": error.hint,
    }


def _details(error: PenstockError) -> dict[str, Any]:
    """What is known of a refused document besides the position."""
    if not isinstance(error, DocumentError):
        return {}
    path = {} if error.path is None else {"path": error.path}
    return path if error.report is None else {**path, "report": json.loads(error.report)}


def place_of(path: Path, error: PenstockError) -> str:
    """``file:line:column``, or just the file if the error has no position."""
    where = error.where
    return str(path) if where is None else f"{path}:{where.line}:{where.column}"


def show_error(
    error: PenstockError,
    *,
    place: str | None = None,
    source: str | None = None,
    as_json: bool = False,
) -> None:
    """Prints an error to stderr: place, message, code, source line with a caret, and hint.

    ``place`` is ``file`` or ``file:line:column``; without it the message includes the position.
    ``source`` is the query in which the caret marks the position.
    """
    console = err()
    if as_json:
        found = {"error": error_as_dict(error)}
        if place is not None:
            found["error"]["place"] = place
        sys.stderr.write(json_line(found))
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
        # Imported on demand: most commands never print a query.
        from penstock.language import with_caret

        for line in with_caret(source, error.where).splitlines():
            console.print(f"    {line}", soft_wrap=True)
    console.print(Text.assemble(("hint: ", "bold cyan"), error.hint), soft_wrap=True)


def note(message: str) -> None:
    """Prints a remark to stderr."""
    err().print(message, style="dim", soft_wrap=True)


def plural(count: int, one: str, many: str | None = None) -> str:
    """Formats a count with its noun: ``1 document``, ``1,000 documents``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def progress(items: Sequence[T], what: str) -> Iterable[T]:
    """Iterates with a progress bar on stderr if stderr, but not stdout, is a terminal."""
    console = _console(sys.stderr)
    if not console.is_terminal or sys.stdout.isatty():
        # Data printed to the terminal is progress enough.
        return items
    return track(items, description=what, console=console, transient=True)


def show_failure(message: str, *, as_json: bool) -> None:
    """Prints a failure that has no error code, such as a file that cannot be opened."""
    if as_json:
        sys.stdout.flush()
        sys.stderr.write(json_line({"error": {"message": message}}))
    else:
        err().print(Text.assemble(("error: ", "bold red"), message), soft_wrap=True)


def show_warning(message: Warning | str, *_code: object, **_line: object) -> None:
    """Prints a warning without the source location, which does not help users of a command."""
    err().print(Text.assemble(("warning: ", "bold yellow"), str(message)), soft_wrap=True)


def json_wanted(context: typer.Context) -> bool:
    """Whether the command was given ``--json``."""
    return bool(context.meta.get(JSON_WANTED, False))
