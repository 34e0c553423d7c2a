"""``penstock generate``: documents and queries drawn from a schema, by seed."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TextIO

import typer

from penstock.cli.console import ExitCode, note, plural, print_json, progress
from penstock.cli.schema_file import read_schema
from penstock.lab.shipped import SCHEMA_ROOTS, shipped_schema
from penstock.lab.workload import (
    DocumentGenerator,
    DocumentParameters,
    KeywordParameters,
    KeywordsOfPaths,
    QueryGenerator,
    QueryParameters,
)
from penstock.schema import SchemaGraph


def documents(
    schema: str,
    parameters: DocumentParameters,
    *,
    count: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> ExitCode:
    """Writes documents as files of a folder, as JSON Lines, or a single one to stdout."""
    if output is None and not as_json and count != 1:
        raise typer.BadParameter("several documents need a folder or --json", param_hint="--output")
    graph = _schema(schema, as_json=as_json)
    if graph is None:
        return ExitCode.REFUSED
    made = DocumentGenerator(graph, parameters).documents(count, seed)
    if output is None:
        for document in made:
            _print_document(document, as_json=as_json)
        return ExitCode.DONE
    output.mkdir(parents=True, exist_ok=True)
    digits = len(str(count))
    size = 0
    for number in progress(range(1, count + 1), "generating"):
        document = next(made)
        size += (output / f"{number:0{digits}}.xml").write_bytes(document)
    note(f"{plural(count, 'document')} of {size / count / 1024:,.1f} KB on average in {output}")
    return ExitCode.DONE


def _print_document(document: bytes, *, as_json: bool) -> None:
    if as_json:
        print_json({"document": document.decode()})
    else:
        sys.stdout.write(document.decode())


def queries(
    schema: str,
    parameters: QueryParameters,
    *,
    keywords: KeywordParameters | None,
    count: int,
    seed: int,
    output: Path | None,
    as_json: bool,
) -> ExitCode:
    """Writes a subscription file, as text or as JSON Lines: of XPath, or of its terms."""
    graph = _schema(schema, as_json=as_json)
    if graph is None:
        return ExitCode.REFUSED
    with _target(output) as file:
        if keywords is not None:
            made = KeywordsOfPaths(graph, parameters, keywords).queries(count, seed)
            (_write_json_keywords if as_json else _write_text_keywords)(file, made)
        else:
            made = QueryGenerator(graph, parameters).queries(count, seed)
            (_write_json if as_json else _write_text)(file, graph, made)
    if output is not None:
        note(f"{plural(count, 'query', 'queries')} in {output}")
    return ExitCode.DONE


def _target(output: Path | None) -> AbstractContextManager[TextIO]:
    if output is None:
        return nullcontext(sys.stdout)
    return output.open("w", encoding="utf-8", newline="\n")


def _write_text(file: TextIO, graph: SchemaGraph, made: Sequence[str]) -> None:
    for prefix, uri in graph.namespaces.items():
        file.write(f"@namespace {prefix}={uri}\n" if prefix else f"@default-namespace {uri}\n")
    for id_, query in _numbered(made):
        file.write(f"{id_}\t{query}\n")


def _write_json(file: TextIO, graph: SchemaGraph, made: Sequence[str]) -> None:
    context = {
        "namespaces": {prefix: uri for prefix, uri in graph.namespaces.items() if prefix},
        "default_namespace": graph.namespaces.get(""),
    }
    kept = {key: value for key, value in context.items() if value}
    for id_, query in _numbered(made):
        file.write(json.dumps({"id": id_, "query": query, **kept}, ensure_ascii=False) + "\n")


def _write_text_keywords(file: TextIO, made: Sequence[str]) -> None:
    file.write("@kind keywords\n")
    for id_, query in _numbered(made):
        file.write(f"{id_}\t{query}\n")


def _write_json_keywords(file: TextIO, made: Sequence[str]) -> None:
    for id_, query in _numbered(made):
        row = {"id": id_, "kind": "keywords", "query": query}
        file.write(json.dumps(row, ensure_ascii=False) + "\n")


def _numbered(made: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((f"q{number}", query) for number, query in enumerate(made, start=1))


def _schema(name: str, *, as_json: bool) -> SchemaGraph | None:
    """A shipped schema by name, or a DTD by path; ``None`` once its error has been shown."""
    if name in SCHEMA_ROOTS:
        return shipped_schema(name)
    path = Path(name)
    if not path.is_file():
        shipped = ", ".join(SCHEMA_ROOTS)
        raise typer.BadParameter(
            f"`{name}` is neither a file nor one of {shipped}", param_hint="SCHEMA"
        )
    return read_schema(path, as_json=as_json)
