"""The options of ``penstock schema``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from penstock.cli.options import A_FILE, JsonOption, refuse_options
from penstock.cli.spark_options import ConfOption, MasterOption, RemoteOption, spark_options

schema_app = typer.Typer(
    name="schema",
    no_args_is_help=True,
    help="Look at schemas, infer them from documents, and match them with each other.",
)

RootOption = Annotated[
    str | None,
    typer.Option(metavar="ELEMENT", help="The root, where there are several."),
]
FOR_SPARK = "this is for --spark"

SAMPLES: dict[str, Any] = {"exists": True, "readable": True}

SamplesArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DOCUMENTS...",
        help="XML files, and folders of them.",
        show_default=False,
        **SAMPLES,
    ),
]
SamplesOption = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="PATH",
        help="Documents of the local schema, a file or a folder: values are compared; repeatable.",
        **SAMPLES,
    ),
]
GlobalSamplesOption = Annotated[
    list[Path] | None,
    typer.Option(metavar="PATH", help="Documents of the global schema; repeatable.", **SAMPLES),
]
AbbreviationsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="What short forms in names stand for, also other languages.", **A_FILE
    ),
]
OutputOption = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="Write here instead of to stdout."),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist.")]


@schema_app.command("infer")
def _infer(
    documents: SamplesArgument,
    *,
    root: RootOption = None,
    spark: Annotated[
        bool, typer.Option("--spark", help="Read the documents on Spark, for gigabytes of them.")
    ] = False,
    master: MasterOption = None,
    remote: RemoteOption = None,
    conf: ConfOption = None,
    as_json: JsonOption = False,
) -> None:
    """Infer a schema from sample documents, and print it as a schema file.

    It says what is narrowest of once, ?, * and + for all samples together.
    """
    if not spark:
        refuse_options({"--master": master, "--remote": remote, "--conf": conf}, FOR_SPARK)
        from penstock.cli import schemas

        raise typer.Exit(schemas.infer(documents, root=root, as_json=as_json))
    from penstock.cli import spark_inference

    options = spark_options(master, remote, conf)
    raise typer.Exit(spark_inference.infer(documents, options, root=root, as_json=as_json))


@schema_app.command("show")
def _show(
    schema: Annotated[
        Path,
        typer.Argument(help="A .dtd, an .xsd, or a schema file.", show_default=False, **A_FILE),
    ],
    *,
    root: RootOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print a schema as the tree that mappings are made for."""
    from penstock.cli import schemas

    raise typer.Exit(schemas.show(schema, root=root, as_json=as_json))


@schema_app.command("match")
def _match(
    local: Annotated[
        Path,
        typer.Argument(
            help="The publisher's schema: a .dtd, an .xsd, or a schema file.",
            show_default=False,
            **A_FILE,
        ),
    ],
    target: Annotated[
        Path,
        typer.Argument(
            metavar="GLOBAL",
            help="The global schema, likewise.",
            show_default=False,
            **A_FILE,
        ),
    ],
    *,
    samples: SamplesOption = None,
    global_samples: GlobalSamplesOption = None,
    abbreviations: AbbreviationsOption = None,
    output: OutputOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose which places of two schemas stand for the same, as a matching file.

    Each pair has a score from 0 to 1. Pairs that somebody should look at are marked uncertain;
    what is in no pair stands below as comments. Edit the file, then derive a mapping from it.
    """
    from penstock.cli import matchings

    raise typer.Exit(
        matchings.match(
            local,
            target,
            samples=samples or (),
            target_samples=global_samples or (),
            abbreviations=abbreviations,
            output=output,
            force=force,
            as_json=as_json,
        )
    )


@schema_app.command("integrate")
def _integrate(
    locals_: Annotated[
        list[Path],
        typer.Argument(
            metavar="LOCAL...",
            help="Publishers' schemas: .dtd, .xsd, or schema files.",
            show_default=False,
            **A_FILE,
        ),
    ],
    *,
    domain: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The domain; by default the name of the output file."),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option(
            metavar="GLOBAL",
            help="A global schema that they join: nothing in it is moved or renamed.",
            **A_FILE,
        ),
    ] = None,
    output: OutputOption = None,
    matchings: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write the matching of each local schema here, as NAME.matching.",
        ),
    ] = None,
    abbreviations: AbbreviationsOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Make a global schema from publishers' schemas, or let more of them join one.

    Places that correspond become one; most schemas decide what it is called and what it is in.
    With --into, every place of the global schema stays, and what is new makes its next version.
    """
    from penstock.cli import integrations

    if into is not None and domain is not None:
        raise typer.BadParameter("the global schema names its domain itself", param_hint="--domain")
    raise typer.Exit(
        integrations.integrate(
            locals_,
            domain=domain,
            into=into,
            output=output,
            matchings=matchings,
            abbreviations=abbreviations,
            force=force,
            as_json=as_json,
        )
    )
