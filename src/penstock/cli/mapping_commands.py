"""The options of ``penstock mapping``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import A_FILE, DocumentsArgument, JsonOption, WorkspaceOption

mapping_app = typer.Typer(
    name="mapping",
    no_args_is_help=True,
    help="Make, check, try and register mappings from publishers' schemas to the global one.",
)

MappingArgument = Annotated[
    Path, typer.Argument(help="A mapping file.", show_default=False, **A_FILE)
]
SchemaNameArgument = Annotated[
    str,
    typer.Argument(metavar="SCHEMA", help="What headers call the schema.", show_default=False),
]
PublisherOption = Annotated[
    str | None,
    typer.Option(help="Whose schema it is; by default that of any publisher who names it."),
]
GlobalArgument = Annotated[
    Path,
    typer.Argument(
        metavar="GLOBAL",
        help="The global schema: a .dtd, an .xsd, or a schema file.",
        show_default=False,
        **A_FILE,
    ),
]


@mapping_app.command("derive")
def _derive(
    local: Annotated[
        Path,
        typer.Argument(
            help="The publisher's schema: a .dtd, an .xsd, or a schema file.",
            show_default=False,
            **A_FILE,
        ),
    ],
    target: GlobalArgument,
    matching: Annotated[
        Path, typer.Argument(help="A matching of the two.", show_default=False, **A_FILE)
    ],
    *,
    as_json: JsonOption = False,
) -> None:
    """Derive a mapping from a schema matching, and print it.

    What the rules cannot reach, and how the schemas still differ, is told on stderr.
    """
    from penstock.cli import mappings

    raise typer.Exit(mappings.derive_one(local, target, matching, as_json=as_json))


@mapping_app.command("check")
def _check(
    mapping: MappingArgument,
    target: GlobalArgument,
    *,
    local: Annotated[
        Path | None,
        typer.Option(help="The publisher's schema, for which the mapping should be.", **A_FILE),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Compare what a mapping makes of its local schema with the global one.

    Lists the operators, which of them hold events back, and each difference. Exits with 1 where
    documents would have what the global schema does not know, or the mapping is for another schema.
    """
    from penstock.cli import mappings

    raise typer.Exit(mappings.check(mapping, target, local=local, as_json=as_json))


@mapping_app.command("apply")
def _apply(
    mapping: MappingArgument,
    documents: DocumentsArgument,
    *,
    trace: Annotated[
        bool, typer.Option("--trace", help="Also say which operator did what, on stderr.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Print documents as the global schema has them: what subscriptions are matched against.

    A document that is refused is told on stderr and does not stop the rest.
    """
    from penstock.cli import mappings

    raise typer.Exit(mappings.apply(mapping, documents, trace=trace, as_json=as_json))


@mapping_app.command("register")
def _register(
    schema: SchemaNameArgument,
    mapping: MappingArgument,
    *,
    publisher: PublisherOption = None,
    domain: Annotated[
        str | None, typer.Option(help="The domain; it may be left out where there is only one.")
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Have documents that name a schema matched by this mapping, and print its digest.

    It takes effect with the next batch, and replaces the mapping that the schema had. How what it
    makes of its schema differs from the global one is told on stderr.
    """
    from penstock.cli import registering

    raise typer.Exit(
        registering.register(
            workspace, schema, mapping, publisher=publisher, domain=domain, as_json=as_json
        )
    )


@mapping_app.command("list")
def _list(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """List the local schemas that are registered, each with its domain and mapping."""
    from penstock.cli import registering

    raise typer.Exit(registering.show_all(workspace, as_json=as_json))


@mapping_app.command("show")
def _show(
    schema: Annotated[
        str,
        typer.Argument(
            metavar="SCHEMA", help="A schema, or the digest of a mapping.", show_default=False
        ),
    ],
    *,
    publisher: PublisherOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Print the mapping that is registered for a schema."""
    from penstock.cli import registering

    raise typer.Exit(registering.show(workspace, schema, publisher=publisher, as_json=as_json))


@mapping_app.command("remove")
def _remove(
    schema: SchemaNameArgument,
    *,
    publisher: PublisherOption = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Register a schema no more: documents that name it are of an unknown schema then."""
    from penstock.cli import registering

    raise typer.Exit(registering.remove(workspace, schema, publisher=publisher, as_json=as_json))
