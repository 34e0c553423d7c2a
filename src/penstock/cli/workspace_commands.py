"""The commands of a workspace and of those who publish: options and help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.dead_letter_commands import dead_letters_app
from penstock.cli.options import A_FILE, DocumentsArgument, JsonOption, WorkspaceOption, bindings

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
    schema: Annotated[
        str,
        typer.Option(help="The name of the documents' schema: chooses the mapping registered."),
    ] = "",
    mapping: Annotated[
        Path | None,
        typer.Option(help="A mapping file to send along, in place of one registered.", **A_FILE),
    ] = None,
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
            mapping=mapping,
            fields=bindings(field, "--field", "NAME=VALUE"),
            id_=id_,
            as_json=as_json,
        )
    )


@workspace_app.command("mailbox")
def _mailbox(
    subscriber: Annotated[
        str, typer.Argument(metavar="NAME", help="Whose mailbox.", show_default=False)
    ],
    *,
    workspace: WorkspaceOption = Path(),
    follow: Annotated[
        bool, typer.Option("--follow", help="Go on with what is delivered, until stopped.")
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            file_okay=False,
            help="Write a file a delivery here; again adds what is new.",
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=0, help="Only the newest so many; by default 100 as text, else all.", metavar="N"
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was delivered to a subscriber, in publishing order.

    Exported files hold the publishers' bytes unchanged, or a fragment each.
    """
    from penstock.cli import mailboxes

    raise typer.Exit(
        mailboxes.run(
            workspace, subscriber, follow=follow, export=export, limit=limit, as_json=as_json
        )
    )


@workspace_app.command("explain")
def _explain(
    subscription: Annotated[str, typer.Argument(help="A subscription's id.", show_default=False)],
    document: Annotated[
        str,
        typer.Argument(
            help="A file, or a published document's number or identity.", show_default=False
        ),
    ],
    *,
    mapping: Annotated[
        Path | None,
        typer.Option(
            help="A mapping file; by default what a published document's header asks for.",
            **A_FILE,
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Say why a document meets a subscription, or at which step it does not."""
    from penstock.cli import explaining

    raise typer.Exit(
        explaining.run(workspace, subscription, document, mapping=mapping, as_json=as_json)
    )


@workspace_app.command("clean")
def _clean(
    *,
    workspace: WorkspaceOption = Path(),
    keep_days: Annotated[
        int,
        typer.Option("--keep-days", min=0, help="Keep documents and deliveries of so many days."),
    ] = 30,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove what is old or no longer needed; shows it first, and asks.

    Inbox files and index versions go once nothing needs them, rows of the tables by age. With
    --json nothing is removed unless --yes is given too.
    """
    from penstock.cli import cleaning

    raise typer.Exit(cleaning.run(workspace, keep_days=keep_days, yes=yes, as_json=as_json))


workspace_app.add_typer(dead_letters_app)


@workspace_app.command("status")
def _status(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show what waits, what became of the documents, and who got how many."""
    from penstock.cli import status

    raise typer.Exit(status.run(workspace, as_json=as_json))
