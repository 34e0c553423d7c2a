"""Assembles the Typer application from the command modules.

Command modules import the library only when a command runs, which keeps ``penstock --help`` fast.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Annotated, Final

import typer
from typer.core import TyperGroup

from penstock import __version__
from penstock.cli.commands.bench import bench
from penstock.cli.commands.clean import clean
from penstock.cli.commands.dead_letters import dead_letters_app
from penstock.cli.commands.doctor import doctor
from penstock.cli.commands.domain import domain_app
from penstock.cli.commands.explain import explain
from penstock.cli.commands.generate import generate_app
from penstock.cli.commands.init import init
from penstock.cli.commands.lab import lab_app
from penstock.cli.commands.mailbox import mailbox
from penstock.cli.commands.mapping import mapping_app
from penstock.cli.commands.match import match
from penstock.cli.commands.pause import pause
from penstock.cli.commands.publish import publish
from penstock.cli.commands.relate import relate
from penstock.cli.commands.resume import resume
from penstock.cli.commands.run import run
from penstock.cli.commands.schema import schema_app
from penstock.cli.commands.status import status
from penstock.cli.commands.subscribe import subscribe
from penstock.cli.commands.subscriptions import subscriptions_app
from penstock.cli.commands.try_ import try_
from penstock.cli.commands.unsubscribe import unsubscribe
from penstock.cli.console import json_wanted, show_error, show_failure, show_warning
from penstock.cli.exit_codes import ExitCode
from penstock.cli.process_exit import immediate_exit
from penstock.errors import PenstockError

COMMANDS: Final[dict[str, dict[str, Callable[..., None] | typer.Typer]]] = {
    "Workspace": {
        "init": init,
        "subscribe": subscribe,
        "unsubscribe": unsubscribe,
        "pause": pause,
        "resume": resume,
        "subscriptions": subscriptions_app,
        "publish": publish,
        "run": run,
        "mailbox": mailbox,
        "explain": explain,
        "status": status,
        "dead-letters": dead_letters_app,
        "clean": clean,
    },
    "Queries and files": {
        "match": match,
        "try": try_,
        "relate": relate,
    },
    "Schemas and mappings": {
        "schema": schema_app,
        "mapping": mapping_app,
        "domain": domain_app,
    },
    "Installation and measurement": {
        "doctor": doctor,
        "generate": generate_app,
        "bench": bench,
        "lab": lab_app,
    },
}
"""The commands and groups by name, under the headings of ``penstock --help``, in its order."""


class ErrorReportingGroup(TyperGroup):
    """Prints Penstock errors instead of tracebacks, and lists commands in the table's order."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The command names in help order."""
        return [name for panel in COMMANDS.values() for name in panel]

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Runs a command; input that it refuses is reported on stderr with exit code 3."""
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            show_error(error, as_json=json_wanted(ctx))
        except OSError as failure:
            if failure.filename is None:
                raise  # not about a file: a closed pipe, for example
            message = f"{failure.filename}: {failure.strerror}"
            show_failure(message, as_json=json_wanted(ctx))
        raise typer.Exit(ExitCode.INPUT_REFUSED)


app = typer.Typer(
    name="penstock",
    cls=ErrorReportingGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="""Penstock is a publish/subscribe system for XML documents.

    It matches published documents against XPath and keyword subscriptions, and delivers each
    document, or the fragments that a query selects, to the mailboxes of the matching subscribers.
    Start with `penstock init` to create a workspace, or `penstock match` to match files directly.
    """,
)
for _panel, _members in COMMANDS.items():
    for _name, _member in _members.items():
        if isinstance(_member, typer.Typer):
            app.add_typer(_member, name=_name, rich_help_panel=_panel)
        else:
            app.command(_name, rich_help_panel=_panel)(_member)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the ``penstock`` command."""
    warnings.showwarning = show_warning
    with immediate_exit():
        app()
