"""The command line: one thin Typer application over the library."""

from penstock.cli.app import main

__all__ = ["main"]
