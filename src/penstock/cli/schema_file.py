"""A DTD that a command was given: read, or its fault shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from penstock.cli.console import place_of, show_error
from penstock.errors import SchemaError
from penstock.schema import SchemaGraph


def read_schema(
    path: Path, *, roots: Sequence[str] | None = None, as_json: bool
) -> SchemaGraph | None:
    """The schema; ``None`` once its error has been shown."""
    try:
        return SchemaGraph.from_dtd_file(path, roots=roots)
    except SchemaError as error:
        show_error(error, place=place_of(path, error), as_json=as_json)
        return None
