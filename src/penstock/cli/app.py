"""The Typer application: options and help; each command's work lives in a module of its own.

Those modules are imported when their command runs, so that ``penstock --help`` is quick.
"""

from __future__ import annotations

import importlib.metadata
from typing import Annotated

import typer
from typer.core import TyperGroup

from penstock.cli.console import ExitCode, JsonOption, json_wanted, show_error, show_failure
from penstock.errors import PenstockError


class ReportingGroup(TyperGroup):
    """Shows errors instead of tracebacks, with one exit code for refused input."""

    def invoke(self, ctx: typer.Context) -> object:  # type: ignore[override]
        """Runs the command; what it refuses is shown on stderr."""
        try:
            return super().invoke(ctx)
        except PenstockError as error:
            show_error(error, as_json=json_wanted(ctx))
        except (FileNotFoundError, IsADirectoryError, PermissionError) as failure:
            show_failure(f"{failure.filename}: {failure.strerror}")
        raise typer.Exit(ExitCode.REFUSED)


app = typer.Typer(
    name="penstock",
    cls=ReportingGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Penstock delivers XML to those who asked for it.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"penstock {importlib.metadata.version('penstock')}")
        raise typer.Exit


@app.callback()
def _penstock(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None:
    pass


@app.command("doctor")
def _doctor(as_json: JsonOption = False) -> None:
    """Show what is there, what is missing, and what to do about it.

    Fails only where something required is missing; with PENSTOCK_REQUIRE_NATIVE=1 the native
    core is required.
    """
    from penstock.cli import doctor

    raise typer.Exit(doctor.run(as_json=as_json))


def main() -> None:
    """The entry point of the ``penstock`` command."""
    app()
