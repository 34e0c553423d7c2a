"""The reference pages that are made from the code itself, so that they cannot disagree with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import typer
from limits_page import limits_page
from typer.core import TyperCommand, TyperGroup

from penstock.cli.app import app
from penstock.errors import ERRORS

NOTE = "<!-- Made by `make docs`; edit the code instead. -->\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(_cell(cell) for cell in row) + " |"


def errors_page() -> str:
    """Every error code with its class, meaning and hint."""
    lines = [
        NOTE,
        "# Errors\n",
        "Every error carries a stable code, a message, where it can a position (byte offset, line,",
        "column), and a hint. Every class is also a subclass of the builtin named beside it.\n",
    ]
    rooms = sorted({code.partition(".")[0] for code in ERRORS})
    for room in rooms:
        lines.append(f"## `{room}`\n")
        rows = [
            (
                f"`{code}`",
                f"`{row.cls.__name__}` (`{_builtin_of(row.cls).__name__}`)",
                row.meaning,
                row.hint,
            )
            for code, row in sorted(ERRORS.items())
            if code.partition(".")[0] == room
        ]
        lines += _table(("code", "class", "meaning", "hint"), rows)
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _builtin_of(cls: type[Exception]) -> type:
    return next(
        base for base in cls.__mro__ if base.__module__ == "builtins" and base is not Exception
    )


def commands_page() -> str:
    """Every command with its arguments and options."""
    lines = [
        NOTE,
        "# Commands\n",
        "Data goes to stdout; progress, notes and errors go to stderr. Every command has `--json`.",
        "[Exit codes](exit-codes.md) are stable. `NO_COLOR` is respected, and a pipe gets neither",
        "colour nor wrapped lines.\n",
    ]
    for path, command in every_command():
        lines += _command(path, command)
    return "\n".join(lines).rstrip() + "\n"


def every_command() -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    """Every command by the words that call it, ``penstock`` first."""
    return _commands(typer.main.get_command(app), ("penstock",))


def _commands(
    command: object, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    if isinstance(command, TyperCommand):
        yield path, command
    elif isinstance(command, TyperGroup):
        for name in command.list_commands(typer.Context(command)):
            yield from _commands(command.commands[name], (*path, name))


def _command(path: tuple[str, ...], command: TyperCommand) -> Iterator[str]:
    yield f"## `{' '.join(path)}`\n"
    context = typer.Context(command, info_name=" ".join(path))
    yield "```text"
    yield " ".join([*path, *command.collect_usage_pieces(context)])
    yield "```\n"
    yield (command.help or "").replace("\b\n", "").strip() + "\n"
    rows = []
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is None:
            continue
        name, text = record
        rows.append((f"`{name}`", text))
    yield from _table(("argument or option", "meaning"), rows)
    yield ""


PAGES: dict[str, Callable[[], str]] = {
    "reference/commands.md": commands_page,
    "reference/errors.md": errors_page,
    "reference/limits.md": lambda: f"{NOTE}\n{limits_page()}",
}
"""Page below docs/ to the function that makes it."""
