"""Reads the input files of a command; an error is reported with the file's name and position."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from penstock.cli.console import place_of, show_error
from penstock.cli.exit_codes import ExitCode
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from penstock.mediation import Abbreviations, Mapping
    from penstock.schema import SchemaGraph, SchemaTree


@contextmanager
def errors_in(path: Path, *, as_json: bool) -> Iterator[None]:
    """Reports an error raised inside as an error in this file, and ends the command."""
    try:
        yield
    except PenstockError as error:
        show_error(error, place=place_of(path, error), as_json=as_json)
        raise typer.Exit(ExitCode.INPUT_REFUSED) from error


def read_dtd(path: Path, *, roots: Sequence[str] | None = None, as_json: bool) -> SchemaGraph:
    """Reads a DTD as a graph; ``roots`` overrides the elements that documents can begin with."""
    from penstock.schema import SchemaGraph

    with errors_in(path, as_json=as_json):
        return SchemaGraph.from_dtd_file(path, roots=roots)


def read_schema_tree(path: Path, *, root: str | None = None, as_json: bool) -> SchemaTree:
    """Reads a DTD, an XSD or a schema file as a tree."""
    from penstock.schema import read_schema_file

    with errors_in(path, as_json=as_json):
        return read_schema_file(path, root=root)


def read_mapping(path: Path, *, as_json: bool) -> Mapping:
    """Reads a mapping file."""
    from penstock.mediation import Mapping
    from penstock.schema.schema_files import read_text

    with errors_in(path, as_json=as_json):
        return Mapping.from_text(read_text(path, "mapping.syntax"))


def read_abbreviations(path: Path | None, *, as_json: bool) -> Abbreviations:
    """Returns the built-in table of abbreviations, extended by a file if one is given."""
    from penstock.mediation import Abbreviations
    from penstock.schema.schema_files import read_text

    shipped = Abbreviations.shipped()
    if path is None:
        return shipped
    with errors_in(path, as_json=as_json):
        text = read_text(path, "mapping.abbreviations")
        return shipped.extended(Abbreviations.from_text(text))
