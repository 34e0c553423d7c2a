"""The commands of a workspace and of those who publish: options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import DocumentsArgument, JsonOption, WorkspaceOption, bindings

workspace_app = typer.Typer()


@workspace_app.command("init")
def _init(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Where; it may hold other files.", file_okay=False)
    ] = Path(),
    *,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace: a folder for subscriptions, documents and deliveries."""
    from penstock.cli import workspaces

    raise typer.Exit(workspaces.init(folder, as_json=as_json))


@workspace_app.command("publish")
def _publish(
    files: DocumentsArgument,
    *,
    workspace: WorkspaceOption = Path(),
    publisher: Annotated[
        str | None, typer.Option(help="Who publishes; by default your login name.")
    ] = None,
    schema: Annotated[str, typer.Option(help="The name of the documents' schema.")] = "",
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="NAME=VALUE", help="A field of the header; repeatable."),
    ] = None,
    id_: Annotated[
        str,
        typer.Option("--id", help="The document's identity; by default its bytes are. One file."),
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Put documents into the inbox, from which `penstock run` takes them.

    A document that was published before is known and not published again. Whether it is
    well-formed shows when it is processed.
    """
    from penstock.cli import publishing

    if id_ and len(files) > 1:
        raise typer.BadParameter("an identity is for one file", param_hint="--id")
    raise typer.Exit(
        publishing.run(
            workspace,
            files,
            publisher=publisher,
            schema=schema,
            fields=bindings(field, "--field", "NAME=VALUE"),
            id_=id_,
            as_json=as_json,
        )
    )
