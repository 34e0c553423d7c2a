"""The options of ``penstock generate``: the workload's parameters by their own names."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.options import JsonOption

generate_app = typer.Typer(
    name="generate",
    no_args_is_help=True,
    help="Draw documents or queries from a schema, by seed.",
)

SchemaArgument = Annotated[
    str,
    typer.Argument(
        help="A DTD file, or a shipped schema: news, protein, customers, bibliography, treebank,"
        " auctions.",
        show_default=False,
    ),
]
CountOption = Annotated[int, typer.Option(min=1, help="How many.")]
_PROBABILITY: dict[str, Any] = {"min": 0.0, "max": 1.0}
SeedOption = Annotated[int, typer.Option(help="The same seed gives the same workload.")]


@generate_app.command("documents")
def _documents(
    schema: SchemaArgument,
    *,
    count: CountOption = 1,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Write files here instead of to stdout.")
    ] = None,
    size_min: Annotated[int, typer.Option(min=1, help="Least size in bytes.")] = 4096,
    size_max: Annotated[int, typer.Option(min=1, help="Greatest size in bytes.")] = 40960,
    levels_max: Annotated[int, typer.Option(min=1, help="Maximum levels.")] = 20,
    repeats_max: Annotated[int, typer.Option(min=1, help="Maximum repeats.")] = 10,
    recursion_max: Annotated[
        int, typer.Option(min=1, help="Elements that contain each other, within each other.")
    ] = 4,
    attribute_probability: Annotated[
        float, typer.Option(help="Of an optional attribute.", **_PROBABILITY)
    ] = 0.4,
    value_probability: Annotated[
        float, typer.Option(help="That a text is not empty.", **_PROBABILITY)
    ] = 0.95,
    vocabulary_size: Annotated[int, typer.Option(min=1, help="Words of running text.")] = 5000,
    as_json: JsonOption = False,
) -> None:
    """Draw documents that are valid to a schema."""
    from penstock.cli import generate
    from penstock.lab.workload import DocumentParameters

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
    raise typer.Exit(
        generate.documents(
            schema, parameters, count=count, seed=seed, output=output, as_json=as_json
        )
    )


@generate_app.command("queries")
def _queries(
    schema: SchemaArgument,
    *,
    count: CountOption = 10,
    seed: SeedOption = 0,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here instead of to stdout.")
    ] = None,
    depth_min: Annotated[int, typer.Option(min=1, help="Least steps of a query.")] = 1,
    depth_max: Annotated[int, typer.Option(min=1, help="Most steps of a query.")] = 6,
    wildcard_probability: Annotated[
        float, typer.Option(help="That a step is *.", **_PROBABILITY)
    ] = 0.1,
    descendant_probability: Annotated[
        float, typer.Option(help="That a step is led to by //.", **_PROBABILITY)
    ] = 0.1,
    skew: Annotated[
        float, typer.Option(min=0.0, help="Zipf exponent of choosing the next child.")
    ] = 0.0,
    predicates: Annotated[
        float, typer.Option(help="That a query has a value predicate.", **_PROBABILITY)
    ] = 0.5,
    nested_paths: Annotated[
        float, typer.Option(help="That a query has a nested path.", **_PROBABILITY)
    ] = 0.0,
    distinct: Annotated[bool, typer.Option(help="Whether no two queries are equal.")] = True,
    keywords: Annotated[
        bool, typer.Option("--keywords", help="Draw paths, and write their terms as keywords.")
    ] = False,
    words_min: Annotated[int, typer.Option(min=1, help="With --keywords: least words.")] = 3,
    words_max: Annotated[int, typer.Option(min=1, help="With --keywords: most words.")] = 10,
    any_probability: Annotated[
        float, typer.Option(help="With --keywords: that any word will do.", **_PROBABILITY)
    ] = 0.0,
    as_json: JsonOption = False,
) -> None:
    """Draw queries that documents of a schema can match, as a subscription file."""
    from penstock.cli import generate
    from penstock.lab.workload import KeywordParameters, QueryParameters

    parameters = QueryParameters(
        depth_min=depth_min,
        depth_max=depth_max,
        wildcard_probability=wildcard_probability,
        descendant_probability=descendant_probability,
        child_skew=skew,
        predicate_weights=(1 - predicates, predicates),
        nested_path_weights=(1 - nested_paths, nested_paths),
        distinct=distinct,
    )
    words = KeywordParameters(
        words_min=words_min, words_max=words_max, any_probability=any_probability
    )
    raise typer.Exit(
        generate.queries(
            schema,
            parameters,
            keywords=words if keywords else None,
            count=count,
            seed=seed,
            output=output,
            as_json=as_json,
        )
    )


@generate_app.command("catalogues")
def _catalogues(
    folder: Annotated[Path, typer.Argument(help="Write here.", show_default=False)],
    *,
    count: Annotated[int, typer.Option(min=0, help="Documents of each catalogue.")] = 1,
    size: Annotated[int, typer.Option(min=1_000, help="Bytes of a document.")] = 20_000,
    seed: SeedOption = 0,
    only: Annotated[
        list[str] | None,
        typer.Option("--catalogue", metavar="NAME", help="This one; may be repeated.  [all]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write out the course catalogues: schemas, matchings, mappings, and documents by seed."""
    from penstock.cli import generate_catalogues

    raise typer.Exit(
        generate_catalogues.write(
            folder, only or [], count=count, size=size, seed=seed, as_json=as_json
        )
    )
