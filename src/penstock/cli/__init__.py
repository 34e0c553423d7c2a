"""The command line: a thin Typer application on top of the library."""

from penstock.cli.app import main

__all__ = ["main"]
