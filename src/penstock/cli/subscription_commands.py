"""The commands of those who subscribe: options and help."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.options import (
    A_FILE,
    DefaultNamespaceOption,
    JsonOption,
    KeywordsOption,
    NamespaceOption,
    SubscriptionsArgument,
    WorkspaceOption,
    asked,
    bindings,
)

subscriber_app = typer.Typer()
subscriptions_app = typer.Typer(
    name="subscriptions", no_args_is_help=True, help="List, import or export subscriptions."
)


class Returns(StrEnum):
    """What a delivery carries, as :class:`penstock.workspace.StoredSubscription` has it."""

    DOCUMENT = "document"
    FRAGMENTS = "fragments"


@subscriber_app.command("subscribe")
def _subscribe(
    subscriber: Annotated[
        str, typer.Argument(metavar="NAME", help="Who subscribes.", show_default=False)
    ],
    query: Annotated[str | None, typer.Argument(help="An XPath.", show_default=False)] = None,
    *,
    keywords: KeywordsOption = None,
    workspace: WorkspaceOption = Path(),
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    dtd: Annotated[
        Path | None,
        typer.Option(help="Say so if no document valid to this DTD can match.", **A_FILE),
    ] = None,
    id_: Annotated[
        str, typer.Option("--id", help="The subscription's name; one is made by default.")
    ] = "",
    returns: Annotated[
        Returns | None,
        typer.Option(
            help="Deliver the document whole, as is usual for an XPath, or what the query selects,"
            " as is usual for keywords.",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Deliver from this time on: 2026-05-01T12:00, or 2h."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option(metavar="TIME", help="Deliver until this time, or for 7d.")
    ] = None,
    backfill: Annotated[
        bool, typer.Option("--backfill", help="Also deliver what was published before.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Subscribe to what an XPath or keywords match, and print the subscription's id.

    The next documents that `penstock run` processes are matched against it. Subscribing again
    with the same id and the same words changes nothing.
    """
    from penstock.cli import subscribing
    from penstock.cli.moments import moment
    from penstock.workspace import StoredSubscription
    from penstock.workspace.stored_subscription import RETURNS_BY_DEFAULT

    kind, text = asked(
        query,
        keywords,
        {"--namespace": namespace, "--default-namespace": default_namespace, "--dtd": dtd},
    )
    wanted = StoredSubscription(
        id=id_,
        subscriber=subscriber,
        kind=kind,
        query=text,
        namespaces=bindings(namespace),
        default_namespace=default_namespace,
        returns=RETURNS_BY_DEFAULT[kind] if returns is None else returns.value,
        starts_at=moment(starts, "--starts"),
        expires_at=moment(expires, "--expires"),
        backfill="wanted" if backfill else "none",
    )
    raise typer.Exit(subscribing.subscribe(workspace, wanted, dtd=dtd, as_json=as_json))


@subscriber_app.command("unsubscribe")
def _unsubscribe(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Remove subscriptions, all that are named or none. What was delivered stays."""
    from penstock.cli import subscribing

    raise typer.Exit(subscribing.unsubscribe(workspace, ids, as_json=as_json))


@subscriber_app.command("pause")
def _pause(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Deliver nothing to subscriptions until they are resumed.

    What is processed meanwhile is not made up for.
    """
    from penstock.cli import subscribing

    raise typer.Exit(subscribing.set_paused(workspace, ids, paused=True, as_json=as_json))


@subscriber_app.command("resume")
def _resume(
    ids: SubscriptionsArgument, *, workspace: WorkspaceOption = Path(), as_json: JsonOption = False
) -> None:
    """Deliver to paused subscriptions again."""
    from penstock.cli import subscribing

    raise typer.Exit(subscribing.set_paused(workspace, ids, paused=False, as_json=as_json))


@subscriptions_app.command("list")
def _list(
    *,
    workspace: WorkspaceOption = Path(),
    subscriber: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of one subscriber.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="How many at most; JSON shows all.")] = 1_000,
    as_json: JsonOption = False,
) -> None:
    """Show subscriptions, with what each is doing now."""
    from penstock.cli import subscription_lists

    raise typer.Exit(
        subscription_lists.show(workspace, subscriber=subscriber, limit=limit, as_json=as_json)
    )


@subscriptions_app.command("import")
def _import(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Lines of text, .jsonl or .csv.", show_default=False, **A_FILE
        ),
    ],
    *,
    workspace: WorkspaceOption = Path(),
    subscriber: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Whose they are where the file does not say."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 where anything was refused.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Add the subscriptions of a file.

    A line that is refused is told with its place and does not keep the others out. Importing the
    same file again adds nothing. Where nobody is said to subscribe, the subscription's id is the
    subscriber's name.
    """
    from penstock.cli import subscription_lists

    raise typer.Exit(
        subscription_lists.bring_in(
            workspace, source, subscriber=subscriber, strict=strict, as_json=as_json
        )
    )


@subscriptions_app.command("export")
def _export(
    target: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE", help=".jsonl or .csv; by default JSON Lines on stdout.", dir_okay=False
        ),
    ] = None,
    *,
    workspace: WorkspaceOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Write all subscriptions, in a form that import reads."""
    from penstock.cli import subscription_lists

    raise typer.Exit(subscription_lists.export(workspace, target, as_json=as_json))


subscriber_app.add_typer(subscriptions_app)
