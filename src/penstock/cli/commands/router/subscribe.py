"""``penstock router subscribe``: subscribes at a router, and prints deliveries."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.commands.router.client import (
    RouterAddressOption,
    TokenFileOption,
    connected,
    router_client,
    run_client,
)
from penstock.cli.console import note, print_json, print_line
from penstock.cli.document_text import decode_for_display
from penstock.cli.link_options import AuthoritiesOption
from penstock.cli.options import (
    DefaultNamespaceOption,
    JsonOption,
    NamespaceOption,
    WhereOption,
    bindings,
    header_fields,
)
from penstock.cli.result_format import FRAGMENT_CHARACTERS_MAX, one_line
from penstock.cli.time_arguments import parse_time

if TYPE_CHECKING:
    from penstock.routing import LocalSubscription
    from penstock.routing.local_subscription import Returns
    from penstock.service.router import DeliveredDocument, RouterClient


def subscribe(
    queries: Annotated[
        list[str] | None,
        typer.Argument(metavar="QUERY", help="XPath queries.", show_default=False),
    ] = None,
    *,
    connect: RouterAddressOption,
    name: Annotated[
        str,
        typer.Option(help="Name of the subscriber, which is that of this client.", metavar="NAME"),
    ],
    keywords: Annotated[
        list[str] | None,
        typer.Option(metavar="WORDS", help="A keyword query (repeatable).", show_default=False),
    ] = None,
    namespace: NamespaceOption = None,
    default_namespace: DefaultNamespaceOption = None,
    where: WhereOption = None,
    fragments: Annotated[
        bool, typer.Option("--fragments", help="Deliver the fragments that a query selects.")
    ] = False,
    fragments_max: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With --fragments, deliver at most N fragments of a document (default: 1,000).",
            show_default=False,
        ),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Deliver from this time on, such as 2026-05-01T12:00 or 2h."
        ),
    ] = None,
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Stop delivering at this time, such as 7d from now, and remove the subscriptions.",
        ),
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", help="Print deliveries until interrupted.")
    ] = False,
    count: Annotated[
        int | None,
        typer.Option(min=0, metavar="N", help="End after N deliveries.", show_default=False),
    ] = None,
    token_file: TokenFileOption = None,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Subscribe at a router, and print deliveries with --follow or --count.

    The subscriptions stay until they expire or `penstock router unsubscribe`, and the router keeps
    the deliveries of a subscriber that is not connected. A delivery is acknowledged once it is
    printed; without queries, the deliveries of existing subscriptions are printed.
    """
    subscriptions = _subscriptions(
        name,
        queries or [],
        keywords or [],
        namespaces=bindings(namespace),
        default_namespace=default_namespace,
        where=header_fields(where, "--where"),
        returns="fragments" if fragments else "document",
        fragments_max=fragments_max,
        starts_at=parse_time(starts, "--starts"),
        expires_at=parse_time(expires, "--expires"),
    )
    if not subscriptions and count is None and not follow:
        raise typer.BadParameter("give a query, --follow or --count", param_hint="QUERY")
    client = router_client(connect, name, token_file, tls_authorities)
    limit = None if follow and count is None else count or 0
    run_client(_subscribe(client, subscriptions, limit, as_json=as_json), is_endless=limit is None)


def _subscriptions(
    name: str,
    queries: Sequence[str],
    keywords: Sequence[str],
    *,
    namespaces: dict[str, str],
    default_namespace: str | None,
    where: dict[str, str],
    returns: Returns,
    fragments_max: int | None,
    starts_at: datetime | None,
    expires_at: datetime | None,
) -> list[LocalSubscription]:
    from penstock.routing import LocalSubscription
    from penstock.routing.limits import DELIVERY_FRAGMENTS_MAX

    found = []
    for kind, texts in (("xpath", queries), ("keywords", keywords)):
        for text in texts:
            subscription = LocalSubscription(
                id="new",
                subscriber=name,
                query=text,
                kind=kind,  # type: ignore[arg-type]
                namespaces=namespaces if kind == "xpath" else {},
                default_namespace=default_namespace if kind == "xpath" else None,
                where=where,
                returns=returns,
                fragments_max=DELIVERY_FRAGMENTS_MAX if fragments_max is None else fragments_max,
                starts_at=starts_at,
                expires_at=expires_at,
            )
            found.append(replace(subscription, id=_subscription_id(subscription)))
    return found


def _subscription_id(subscription: LocalSubscription) -> str:
    """An id that depends on what is asked for, so that asking again only changes the times."""
    from penstock.routing.subscription_text import subscription_to_text

    timeless = replace(subscription, starts_at=None, expires_at=None)
    return hashlib.blake2b(subscription_to_text(timeless).encode(), digest_size=6).hexdigest()


async def _subscribe(
    client: RouterClient,
    subscriptions: Sequence[LocalSubscription],
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    async with client:
        await connected(client)
        if subscriptions:
            await client.subscribe(subscriptions)
            for each in subscriptions:
                _show_subscription(each, as_json=as_json)
        if limit == 0:
            return
        shown = 0
        async with contextlib.aclosing(client.deliveries()) as deliveries:
            async for delivery in deliveries:
                _show_delivery(delivery, as_json=as_json)
                sys.stdout.flush()
                client.acknowledge(delivery)
                shown += 1
                if shown == limit:
                    break
        await client.synchronise()


def _show_subscription(subscription: LocalSubscription, *, as_json: bool) -> None:
    if as_json:
        print_json({"type": "subscription", "id": subscription.id, "query": subscription.query})
    else:
        note(f"subscription {subscription.id}: {subscription.query}")


def _show_delivery(delivery: DeliveredDocument, *, as_json: bool) -> None:
    header = delivery.header
    if as_json:
        row: dict[str, Any] = {
            "type": "delivery",
            "number": delivery.number,
            "subscription": delivery.subscription,
            "document": delivery.identity,
            "publisher": header.publisher,
        }
        if delivery.fragments is not None:
            row["fragments"] = [{"kind": kind, "xml": xml} for kind, xml in delivery.fragments]
            row["fragments_omitted"] = delivery.fragments_omitted
        elif delivery.content is not None:
            row["content"] = decode_for_display(delivery.content)
        print_json(row)
        return
    print_line(f"{delivery.number:>8}  {delivery.identity}  {delivery.subscription}")
    texts = [xml for _, xml in delivery.fragments or ()]
    if delivery.content is not None:
        texts = [decode_for_display(delivery.content[: FRAGMENT_CHARACTERS_MAX * 8])]
    for text in texts:
        print_line(f"          {one_line(text)}")
