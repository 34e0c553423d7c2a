"""Help pages of the commands: plain text in two columns that fits into 80 columns.

Typer's own pages spend a third of a narrow terminal on frames and on the Python types of the
options, and importing what draws them takes longer than everything else ``--help`` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from typer._click import HelpFormatter

VALUE_NAMES: Final = {
    "<str>": "NAME",
    "<file>": "FILE",
    "<dir>": "DIR",
    "<path>": "PATH",
    "<int>": "N",
    "<int range>": "N",
    "<float>": "X",
    "<float range>": "X",
}
"""What stands for the value of an option, instead of the type that Typer shows."""

LONGEST_LEFT: Final = 30
"""Columns of the left column; a description whose left side is longer starts on a new line."""


def usage_name(name: str) -> str:
    """The name of an argument in the usage line; Typer puts a mandatory one in braces."""
    return re.sub(r"^\{(.*)\}", r"\1", name)


def parameter_name(name: str) -> str:
    """Names of an option with the name of its value, or the name of an argument.

    The types of arguments are left out, except for choices.
    """
    if not name.startswith("-"):
        return re.sub(r" <[^|]*>$", "", name)
    flags, space, type_ = name.partition(" <")
    return f"{flags} {VALUE_NAMES.get('<' + type_, '<' + type_)}" if space else name


class HelpCommand(TyperCommand):
    """A command with a plain help page."""

    def collect_usage_pieces(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The parts of the usage line after the command's name."""
        return [usage_name(piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(  # type: ignore[override]
        self, ctx: typer.Context, formatter: HelpFormatter
    ) -> None:
        """Writes the arguments and the options."""
        _write_parameters(self, ctx, formatter)


class HelpGroup(TyperGroup):
    """A group of commands with a plain help page, which shows the first paragraph of each."""

    headings: Mapping[str, Iterable[str]] = {}
    """The names of the commands under each heading; without headings, they are all in one list."""

    def format_options(  # type: ignore[override]
        self, ctx: typer.Context, formatter: HelpFormatter
    ) -> None:
        """Writes the options, then the commands."""
        _write_parameters(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(  # type: ignore[override]
        self, ctx: typer.Context, formatter: HelpFormatter
    ) -> None:
        """Writes the commands under their headings, without cutting their descriptions."""
        names = self.list_commands(ctx)
        width = max(map(len, names))
        for heading, members in (self.headings or {"Commands": names}).items():
            rows = [(name.ljust(width), self._summary(name)) for name in members]
            with formatter.section(heading):
                formatter.write_dl(rows)

    def _summary(self, name: str) -> str:
        paragraph = (self.commands[name].help or "").strip().partition("\n\n")[0]
        return " ".join(paragraph.split())


def help_rows(
    command: TyperCommand | TyperGroup, context: typer.Context
) -> Iterator[tuple[bool, str, str]]:
    """Yields each parameter: whether it is an argument, what identifies it, what it means."""
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            name, text = record
            is_argument = parameter.param_type_name == "argument"
            # The usage line shows which arguments are mandatory.
            text = text.removesuffix("  [required]") if is_argument else text
            # Typer puts a default that is given as text into parentheses.
            text = re.sub(r"\[default: \((.*)\)\]$", r"[default: \1]", text)
            yield is_argument, parameter_name(name), text


def _write_parameters(
    command: TyperCommand | TyperGroup, context: typer.Context, formatter: HelpFormatter
) -> None:
    rows = list(help_rows(command, context))
    for heading, arguments in (("Arguments", True), ("Options", False)):
        members = [(name, text) for is_argument, name, text in rows if is_argument == arguments]
        if members:
            with formatter.section(heading):
                formatter.write_dl(members, col_max=LONGEST_LEFT)


def use_plain_help(app: typer.Typer) -> None:
    """Gives plain help pages to an application, its commands, and its groups of commands."""
    app.rich_markup_mode = None
    for command in app.registered_commands:
        command.cls = HelpCommand
    for group in app.registered_groups:
        assert group.typer_instance is not None, "groups are added as applications"
        group.cls = HelpGroup
        use_plain_help(group.typer_instance)
