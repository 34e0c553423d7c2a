"""``penstock generate``: generates documents, queries and course catalogues from a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from penstock.cli.console import json_line, note, plural, print_file, print_json, progress
from penstock.cli.input_files import read_dtd
from penstock.cli.options import JsonOption

if TYPE_CHECKING:
    from penstock.lab.catalogues import Catalogue
    from penstock.schema import SchemaGraph

generate_app = typer.Typer(
    name="generate",
    no_args_is_help=True,
    help="Generate random documents or queries for a schema.",
)

SchemaArgument = Annotated[
    str,
    typer.Argument(
        metavar="SCHEMA",
        help="A DTD file, or a built-in schema: news, protein, customers, bibliography, treebank,"
        " auctions.",
        show_default=False,
    ),
]
SeedOption = Annotated[int, typer.Option(help="Random seed; equal seeds give equal output.")]
_Writer: TypeAlias = Callable[[str], object]
_PROBABILITY: dict[str, Any] = {"min": 0.0, "max": 1.0}


@generate_app.command("documents")
def documents(
    schema: SchemaArgument,
    *,
    count: Annotated[int, typer.Option(min=1, help="Number of documents.")] = 1,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="DIR", help="Write files to this folder instead of stdout."
        ),
    ] = None,
    size_min: Annotated[int, typer.Option(min=1, help="Minimum size in bytes.")] = 4096,
    size_max: Annotated[int, typer.Option(min=1, help="Maximum size in bytes.")] = 40960,
    levels_max: Annotated[int, typer.Option(min=1, help="Maximum nesting depth.")] = 20,
    repeats_max: Annotated[
        int, typer.Option(min=1, help="Maximum repetitions of a repeatable element.")
    ] = 10,
    recursion_max: Annotated[
        int, typer.Option(min=1, help="Maximum nesting of mutually recursive elements.")
    ] = 4,
    attribute_probability: Annotated[
        float, typer.Option(help="Probability of an optional attribute.", **_PROBABILITY)
    ] = 0.4,
    value_probability: Annotated[
        float, typer.Option(help="Probability that a text is not empty.", **_PROBABILITY)
    ] = 0.95,
    vocabulary_size: Annotated[
        int, typer.Option(min=1, help="Number of distinct words in running text.")
    ] = 5000,
    as_json: JsonOption = False,
) -> None:
    """Generate documents that are valid against a schema."""
    from penstock.lab.workload import DocumentGenerator, DocumentParameters

    parameters = DocumentParameters(
        size_min=size_min,
        size_max=size_max,
        levels_max=levels_max,
        repeats_max=repeats_max,
        recursion_max=recursion_max,
        attribute_probability=attribute_probability,
        value_probability=value_probability,
        vocabulary_size=vocabulary_size,
    )
    if output is None and not as_json and count != 1:
        raise typer.BadParameter(
            "several documents require --output or --json", param_hint="--output"
        )
    generated = DocumentGenerator(_schema(schema, as_json=as_json), parameters).documents(
        count, seed
    )
    if output is None:
        for document in generated:
            if as_json:
                print_json({"document": document.decode()})
            else:
                print_file(document.decode())
        return
    output.mkdir(parents=True, exist_ok=True)
    digits = len(str(count))
    size = 0
    for number in progress(range(1, count + 1), "generating"):
        document = next(generated)
        size += (output / f"{number:0{digits}}.xml").write_bytes(document)
    note(f"{plural(count, 'document')}, {size / count / 1024:,.1f} KB on average, in {output}")


@generate_app.command("queries")
def queries(
    schema: SchemaArgument,
    *,
    count: Annotated[int, typer.Option(min=1, help="Number of queries.")] = 10,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to this file instead of stdout."
        ),
    ] = None,
    depth_min: Annotated[int, typer.Option(min=1, help="Minimum number of steps.")] = 1,
    depth_max: Annotated[int, typer.Option(min=1, help="Maximum number of steps.")] = 6,
    wildcard_probability: Annotated[
        float, typer.Option(help="Probability that a step is `*`.", **_PROBABILITY)
    ] = 0.1,
    descendant_probability: Annotated[
        float, typer.Option(help="Probability that a step follows `//`.", **_PROBABILITY)
    ] = 0.1,
    skew: Annotated[
        float, typer.Option(min=0.0, help="Zipf exponent for choosing the next child.")
    ] = 0.0,
    predicates: Annotated[
        float, typer.Option(help="Probability of a value predicate.", **_PROBABILITY)
    ] = 0.5,
    nested_paths: Annotated[
        float, typer.Option(help="Probability of a nested path.", **_PROBABILITY)
    ] = 0.0,
    branching_probability: Annotated[
        float,
        typer.Option(
            help="Probability that a step has a further path below it, so that the query is a"
            " twig.",
            **_PROBABILITY,
        ),
    ] = 0.0,
    distinct: Annotated[bool, typer.Option(help="Whether all queries are distinct.")] = True,
    keywords: Annotated[
        bool,
        typer.Option("--keywords", help="Write the terms of the generated paths as keywords."),
    ] = False,
    words_min: Annotated[
        int, typer.Option(min=1, help="With --keywords: minimum number of words.")
    ] = 3,
    words_max: Annotated[
        int, typer.Option(min=1, help="With --keywords: maximum number of words.")
    ] = 10,
    any_probability: Annotated[
        float,
        typer.Option(
            help="With --keywords: probability that any of the words matches (OR).", **_PROBABILITY
        ),
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Generate queries that documents of a schema can match, as a subscription file."""
    from penstock.lab.workload import (
        KeywordParameters,
        KeywordsOfPaths,
        QueryGenerator,
        QueryParameters,
    )

    parameters = QueryParameters(
        depth_min=depth_min,
        depth_max=depth_max,
        wildcard_probability=wildcard_probability,
        descendant_probability=descendant_probability,
        child_skew=skew,
        predicate_weights=(1 - predicates, predicates),
        nested_path_weights=(1 - nested_paths, nested_paths),
        branching_probability=branching_probability,
        distinct=distinct,
    )
    keyword_parameters = KeywordParameters(
        words_min=words_min, words_max=words_max, any_probability=any_probability
    )
    graph = _schema(schema, as_json=as_json)
    with _writer(output) as write:
        if keywords:
            generated = KeywordsOfPaths(graph, parameters, keyword_parameters).queries(count, seed)
            (_write_json_keywords if as_json else _write_text_keywords)(write, generated)
        else:
            generated = QueryGenerator(graph, parameters).queries(count, seed)
            (_write_json if as_json else _write_text)(write, graph, generated)
    if output is not None:
        note(f"{plural(count, 'query', 'queries')} in {output}")


@contextmanager
def _writer(output: Path | None) -> Iterator[_Writer]:
    if output is None:
        yield print_file
        return
    with output.open("w", encoding="utf-8", newline="\n") as file:
        yield file.write


def _write_text(write: _Writer, graph: SchemaGraph, generated: Sequence[str]) -> None:
    for prefix, uri in graph.namespaces.items():
        write(f"@namespace {prefix}={uri}\n" if prefix else f"@default-namespace {uri}\n")
    for id_, query in _numbered(generated):
        write(f"{id_}\t{query}\n")


def _write_json(write: _Writer, graph: SchemaGraph, generated: Sequence[str]) -> None:
    namespaces = {
        "namespaces": {prefix: uri for prefix, uri in graph.namespaces.items() if prefix},
        "default_namespace": graph.namespaces.get(""),
    }
    used = {key: value for key, value in namespaces.items() if value}
    for id_, query in _numbered(generated):
        write(json_line({"id": id_, "query": query, **used}))


def _write_text_keywords(write: _Writer, generated: Sequence[str]) -> None:
    write("@kind keywords\n")
    for id_, query in _numbered(generated):
        write(f"{id_}\t{query}\n")


def _write_json_keywords(write: _Writer, generated: Sequence[str]) -> None:
    for id_, query in _numbered(generated):
        row = {"id": id_, "kind": "keywords", "query": query}
        write(json_line(row))


def _numbered(generated: Sequence[str]) -> Iterator[tuple[str, str]]:
    return ((f"q{number}", query) for number, query in enumerate(generated, start=1))


def _schema(name: str, *, as_json: bool) -> SchemaGraph:
    """Loads a built-in schema by name, or a DTD by path."""
    from penstock.lab.built_in_schemas import SCHEMA_ROOTS, built_in_schema

    if name in SCHEMA_ROOTS:
        return built_in_schema(name)
    path = Path(name)
    if not path.is_file():
        shipped = ", ".join(SCHEMA_ROOTS)
        raise typer.BadParameter(
            f"`{name}` is neither a file nor one of {shipped}", param_hint="SCHEMA"
        )
    return read_dtd(path, as_json=as_json)


@generate_app.command("catalogues")
def catalogues(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Folder to write to.", show_default=False)
    ],
    *,
    count: Annotated[int, typer.Option(min=0, help="Number of documents per catalogue.")] = 1,
    size: Annotated[
        int, typer.Option(min=1_000, help="Approximate size of a document in bytes.")
    ] = 20_000,
    seed: SeedOption = 0,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--catalogue", metavar="NAME", help="Write only this one (repeatable; default: all)."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the course catalogues: schemas, matchings, mappings and generated documents."""
    from penstock.lab.catalogues import CATALOGUES, catalogue
    from penstock.lab.catalogues.catalogue_collection import file_text

    chosen = [catalogue(name) for name in only or ()] or list(CATALOGUES)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "global.schema").write_text(file_text("global", "schema"), encoding="utf-8")
    for one in progress(chosen, "generating"):
        written = _write_catalogue(folder / one.name, one, count=count, size=size, seed=seed)
        if as_json:
            print_json(
                {
                    "catalogue": one.name,
                    "university": one.university,
                    "language": one.language,
                    "operators": len(one.mapping.operators),
                    "documents": [str(path) for path in written],
                }
            )
    written_documents = plural(count * len(chosen), "document")
    note(f"{plural(len(chosen), 'catalogue')} with {written_documents} in {folder}")


def _write_catalogue(
    folder: Path, one: Catalogue, *, count: int, size: int, seed: int
) -> list[Path]:
    from penstock.lab.catalogues import CatalogueDocuments
    from penstock.lab.catalogues.catalogue_collection import file_text

    folder.mkdir(exist_ok=True)
    for kind in ("schema", "matching", "mapping"):
        (folder / f"{one.name}.{kind}").write_text(file_text(one.name, kind), encoding="utf-8")
    digits = len(str(count))
    written = []
    for number, document in enumerate(
        CatalogueDocuments(one).documents(count, size, seed), start=1
    ):
        path = folder / f"{number:0{digits}}.xml"
        path.write_bytes(document)
        written.append(path)
    return written
