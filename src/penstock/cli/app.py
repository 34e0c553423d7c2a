"""Assembles the Typer application from the command modules.

Command modules import the library only when a command runs, which keeps ``penstock --help`` fast.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, cast

import typer

from penstock import __version__
from penstock.cli.commands.bench import bench
from penstock.cli.commands.clean import clean
from penstock.cli.commands.dead_letters import dead_letters_app
from penstock.cli.commands.doctor import doctor
from penstock.cli.commands.domain import domain_app
from penstock.cli.commands.explain import explain
from penstock.cli.commands.generate import generate_app
from penstock.cli.commands.inbox import inbox_app
from penstock.cli.commands.init import init
from penstock.cli.commands.lab import lab_app
from penstock.cli.commands.mailbox import mailbox
from penstock.cli.commands.mapping import mapping_app
from penstock.cli.commands.match import match
from penstock.cli.commands.overlay import overlay_app
from penstock.cli.commands.pause import pause
from penstock.cli.commands.peer import peer
from penstock.cli.commands.publish import publish
from penstock.cli.commands.relate import relate
from penstock.cli.commands.resume import resume
from penstock.cli.commands.retention import retention_app
from penstock.cli.commands.router import router_app
from penstock.cli.commands.run import run
from penstock.cli.commands.schema import schema_app
from penstock.cli.commands.status import status
from penstock.cli.commands.subscribe import subscribe
from penstock.cli.commands.subscriptions import subscriptions_app
from penstock.cli.commands.sync import sync_app
from penstock.cli.commands.tokenizer import tokenizer_app
from penstock.cli.commands.try_ import try_
from penstock.cli.commands.unsubscribe import unsubscribe
from penstock.cli.console import (
    json_wanted,
    print_line,
    show_error,
    show_failure,
    show_warning,
)
from penstock.cli.exit_codes import ExitCode
from penstock.cli.help_pages import HelpGroup, use_plain_help
from penstock.cli.log_output import configure_logging
from penstock.cli.process_exit import BROKEN_PIPE, immediate_exit, quiet_broken_pipe
from penstock.cli.terminal_text import visible
from penstock.errors import PenstockError

logger = logging.getLogger(__name__)

UsageError: Final = cast("type[typer.BadParameter]", typer.BadParameter.__bases__[0])
"""The class of errors in the command line, which Typer does not export."""

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
        "retention": retention_app,
        "tokenizer": tokenizer_app,
        "inbox": inbox_app,
        "clean": clean,
    },
    "Routers and peers": {
        "router": router_app,
        "peer": peer,
        "overlay": overlay_app,
    },
    "Synchronisation": {
        "sync": sync_app,
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


class ErrorReportingGroup(HelpGroup):
    """Prints Penstock errors instead of tracebacks, and lists commands in the table's order."""

    headings = COMMANDS

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The command names in help order."""
        return [name for panel in COMMANDS.values() for name in panel]

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Runs a command; input that it refuses is reported on stderr with exit code 3."""
        started = time.monotonic()
        try:
            return super().invoke(ctx)
        except UsageError as refusal:
            # The message may quote file names.
            refusal.message = visible(refusal.message)
            raise
        except PenstockError as error:
            show_error(error, as_json=json_wanted(ctx))
        except BrokenPipeError:
            raise SystemExit(BROKEN_PIPE) from None  # Typer would end with 1
        except OSError as failure:
            if failure.filename is None:
                raise  # not about a file
            message = f"{failure.filename}: {failure.strerror}"
            show_failure(message, as_json=json_wanted(ctx))
        finally:
            seconds = time.monotonic() - started
            logger.info("%s ended after %.3f s", ctx.invoked_subcommand, seconds)
        raise typer.Exit(ExitCode.INPUT_REFUSED)


app = typer.Typer(
    name="penstock",
    cls=ErrorReportingGroup,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="""Penstock is a publish/subscribe engine for XML.

    It matches published documents against XPath and keyword subscriptions, and delivers each
    document, or the fragments that a query selects, to the mailboxes of the matching subscribers.
    Start with `penstock init` to create a workspace, or `penstock match` to match files directly.
    """,
)
for _members in COMMANDS.values():
    for _name, _member in _members.items():
        if isinstance(_member, typer.Typer):
            app.add_typer(_member, name=_name)
        else:
            app.command(_name)(_member)
use_plain_help(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        print_line(f"penstock {__version__}")
        raise typer.Exit


@app.callback()
def _penstock(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and exit.", is_eager=True, callback=_print_version
        ),
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Print what Penstock does, on stderr.")
    ] = False,
    log_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Append a detailed log to this file."),
    ] = None,
) -> None:
    configure_logging(verbose=verbose, log_file=log_file)


def main() -> None:
    """Entry point of the ``penstock`` command."""
    warnings.showwarning = show_warning
    with immediate_exit(), quiet_broken_pipe():
        app(prog_name="penstock")  # also as `python -m penstock`
