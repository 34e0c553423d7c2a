"""``penstock router``: runs a router, and speaks to one as publisher or subscriber."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import signal
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.table import Table

from penstock.cli.commands.publish import login_name
from penstock.cli.commands.router_tree import tree
from penstock.cli.confirmation import ForceRemovalOption, confirm_removal
from penstock.cli.console import note, plural, print_json, print_line, print_table, progress
from penstock.cli.document_inputs import DocumentInput, document_inputs
from penstock.cli.document_text import decode_for_display
from penstock.cli.exit_codes import ExitCode
from penstock.cli.link_options import AuthoritiesOption, MetricsOption, TlsKeyOption
from penstock.cli.log_output import show_warnings
from penstock.cli.options import (
    DOCUMENTS_HELP,
    EXISTING_FILE,
    DefaultNamespaceOption,
    JsonOption,
    NamespaceOption,
    WhereOption,
    WorkspaceOption,
    bindings,
    header_fields,
)
from penstock.cli.result_format import FRAGMENT_CHARACTERS_MAX, one_line
from penstock.cli.time_arguments import parse_time
from penstock.errors import error

if TYPE_CHECKING:
    from penstock.documents import Document, Header
    from penstock.links import Address, ClientTls, TcpAddress
    from penstock.routing import AnnotationOptions, LocalSubscription
    from penstock.routing.local_subscription import Returns
    from penstock.service.router import DeliveredDocument, Receipt, RouterClient, RouterOptions
    from penstock.service.router.process import Listening
    from penstock.workspace.router_store import StoredDeadLetter

T = TypeVar("T")


class Overflow(StrEnum):
    """Which document is discarded; see :data:`penstock.routing.OverflowPolicy`."""

    DISCARD_OLDEST = "discard-oldest"
    DISCARD_NEWEST = "discard-newest"


router_app = typer.Typer(invoke_without_command=True, no_args_is_help=True)

TokenFileOption = Annotated[
    Path | None,
    typer.Option(
        help="Names, roles and tokens of the other sides; see `How to run routers`.",
        **EXISTING_FILE,
    ),
]
InsecureOption = Annotated[
    bool,
    typer.Option("--insecure", help="Do without tokens, on addresses of this machine only."),
]
RouterAddressOption = Annotated[
    str,
    typer.Option(
        "--connect",
        metavar="ADDRESS",
        help="Where the router listens: HOST:PORT or unix:PATH.",
        show_default=False,
    ),
]


@router_app.callback()
def router(
    context: typer.Context,
    *,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Where to listen for neighbours and clients: HOST:PORT or unix:PATH; port 0 takes"
            " a free one.",
            show_default=False,
        ),
    ] = None,
    connect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=ADDRESS",
            help="Connect to a neighbour (repeatable). Only one of two neighbours connects.",
            show_default=False,
        ),
    ] = None,
    workspace: WorkspaceOption = Path(),
    name: Annotated[
        str,
        typer.Option(help="Name of the router (default: the name of the workspace's folder)."),
    ] = "",
    token_file: TokenFileOption = None,
    insecure: InsecureOption = False,
    tls_certificate: Annotated[
        Path | None,
        typer.Option(help="Certificate of this router; turns TLS on.", **EXISTING_FILE),
    ] = None,
    tls_key: TlsKeyOption = None,
    tls_authorities: AuthoritiesOption = None,
    annotations: Annotated[
        list[str] | None,
        typer.Option(
            "--annotation",
            metavar="KIND",
            help="Always send this kind of annotation to neighbours (repeatable): match-list, ps,"
            " ns, pd, nd, skeleton; or none (default: the kinds that save more than they cost).",
            show_default=False,
        ),
    ] = None,
    verified_share: Annotated[
        float,
        typer.Option(
            "--verify",
            metavar="SHARE",
            help="Read this share of the documents that annotations decide, from 0 to 1, and cut"
            " off a neighbour whose annotations are wrong.",
        ),
    ] = 0.0,
    aggregate_nodes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Announce an interest of at most N pattern nodes to each neighbour, merging"
            " subscriptions beyond it (default: 1,000,000).",
            show_default=False,
        ),
    ] = None,
    overflow: Annotated[
        Overflow,
        typer.Option(help="Which document to discard when too many wait for a neighbour."),
    ] = Overflow.DISCARD_OLDEST,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a router of a workspace in the foreground, until SIGTERM or Ctrl-C.

    Routers form a tree. A document that is published to one of them reaches the subscribers of
    all. What is published to the workspace's inbox is routed, and documents of others that match
    its subscriptions are put into the inbox, for `penstock run`.
    """
    if context.invoked_subcommand is not None:
        return
    if listen is None:
        raise typer.BadParameter("give the address to listen on", param_hint="--listen")
    show_warnings()
    from penstock.links import run
    from penstock.service.router.process import run_router
    from penstock.workspace import Workspace

    with Workspace.open(workspace) as opened:
        options = _router_options(
            name=name or opened.path.name,
            listen=listen,
            connect=connect or [],
            token_file=token_file,
            insecure=insecure,
            certificate=tls_certificate,
            key=tls_key,
            authorities=tls_authorities,
            annotations=_annotation_options(annotations, verified_share),
            aggregate_nodes=aggregate_nodes,
            overflow=overflow,
            metrics=metrics,
        )

        def show(listening: Listening) -> None:
            _show_listening(options.name, listening, as_json=as_json)

        run(run_router(opened, options, show))
    note("stopped")


def _router_options(
    *,
    name: str,
    listen: str,
    connect: Sequence[str],
    token_file: Path | None,
    insecure: bool,
    certificate: Path | None,
    key: Path | None,
    authorities: Path | None,
    annotations: AnnotationOptions,
    aggregate_nodes: int | None,
    overflow: Overflow,
    metrics: str | None,
) -> RouterOptions:
    from penstock.links import ServerTls, TcpAddress
    from penstock.routing.limits import AGGREGATE_NODES_MAX
    from penstock.service.router import RouterOptions, parse_address, read_tokens

    if (certificate is None) != (key is None):
        raise typer.BadParameter("give a certificate and its key", param_hint="--tls-key")
    served: Address | None = None if metrics is None else parse_address(metrics)
    if served is not None and not isinstance(served, TcpAddress):
        raise typer.BadParameter("metrics are served over TCP", param_hint="--metrics")
    neighbours = {}
    for text in connect:
        neighbour, equals, address = text.partition("=")
        if not (neighbour and equals):
            raise typer.BadParameter(f"`{text}` is not NAME=ADDRESS", param_hint="--connect")
        neighbours[neighbour] = parse_address(address)
    return RouterOptions(
        name=name,
        listen=parse_address(listen),
        connect=neighbours,
        tokens={} if token_file is None else read_tokens(token_file),
        insecure=insecure,
        server_tls=(
            None
            if certificate is None or key is None
            else ServerTls(certificate=certificate, key=key)
        ),
        client_tls=_client_tls(authorities),
        annotations=annotations,
        aggregate_nodes=AGGREGATE_NODES_MAX if aggregate_nodes is None else aggregate_nodes,
        overflow=overflow.value,
        metrics=served,
    )


def _annotation_options(kinds: Sequence[str] | None, verified_share: float) -> AnnotationOptions:
    from penstock.routing import AnnotationKind, AnnotationOptions

    if not kinds:
        return AnnotationOptions(verified_share=verified_share)
    if list(kinds) == ["none"]:
        kinds = ()
    unknown = sorted(set(kinds) - set(AnnotationKind))
    if unknown:
        message = f"`{unknown[0]}` is not a kind of annotation"
        raise typer.BadParameter(message, param_hint="--annotation")
    chosen = frozenset(map(AnnotationKind, kinds))
    return AnnotationOptions(kinds=chosen, is_adaptive=False, verified_share=verified_share)


def _client_tls(authorities: Path | None) -> ClientTls | None:
    from penstock.links import ClientTls

    return None if authorities is None else ClientTls(authorities=authorities)


def _show_listening(name: str, listening: Listening, *, as_json: bool) -> None:
    metrics: TcpAddress | None = listening.metrics
    if as_json:
        print_json(
            {
                "type": "listening",
                "router": name,
                "address": str(listening.address),
                "metrics": None if metrics is None else str(metrics),
            }
        )
    else:
        print_line(f"router {name} listens on {listening.address}")
        if metrics is not None:
            print_line(f"metrics: http://{metrics}/metrics")
    sys.stdout.flush()


@router_app.command("status")
def status(*, workspace: WorkspaceOption = Path(), as_json: JsonOption = False) -> None:
    """Show the router of a workspace: neighbours, queues, interests and counters."""
    from penstock.service.router.status import read_status
    from penstock.workspace import Workspace

    with Workspace.open(workspace, read_only=True) as opened:
        found = read_status(opened)
    if as_json:
        print_json({"type": "router", **found})
        return
    state = "running" if found["running"] else "not running"
    print_line(f"router {found['name']}: {state}, {found['address']}, as of {found['at']}")
    table = Table(box=None, pad_edge=False)
    for column in ("neighbour", "link", "authenticated"):
        table.add_column(column)
    for column in ("interest", "patterns", "waiting", "unacknowledged"):
        table.add_column(column, justify="right")
    for name, each in found["neighbours"].items():
        table.add_row(
            name,
            _link_state(each, is_running=found["running"]),
            "yes" if each["authenticated"] else "no",
            each["status"],
            f"{each['patterns']:,}",
            f"{each['waiting']:,}",
            f"{each['unacknowledged']:,}",
        )
    if found["neighbours"]:
        print_table(table)
    for name, each in found["neighbours"].items():
        if each["last_error"]:
            print_line(f"neighbour {name}: {each['last_error']}")
    print_line(f"subscriptions: {found['subscriptions']:,}")
    for name, waiting in found["subscribers"].items():
        print_line(f"deliveries that wait for {name}: {waiting:,}")
    for name, count in found["counters"].items():
        print_line(f"{name.replace('_', ' ')}: {count:,}")
    for each in found.get("set_aside", ()):
        documents = plural(each["documents"], "document")
        print_line(
            f"subscription {each['subscription']} of {each['subscriber']} was set aside for"
            f" {documents}, whose work budget was spent [limit.work]"
        )


def _link_state(neighbour: Mapping[str, Any], *, is_running: bool) -> str:
    if not is_running:
        return "down"
    if neighbour["distrusted"]:
        return "cut off"
    return "up" if neighbour["connected"] else "down"


router_app.command("tree")(tree)


@router_app.command("dead-letters")
def dead_letters(
    *,
    workspace: WorkspaceOption = Path(),
    code: Annotated[
        str | None,
        typer.Option(metavar="CODE", help="Only documents refused with this error code."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the documents that the router of a workspace refused, the latest.

    With --json, also the reports of defects, which contain no document.
    """
    from penstock.workspace import Workspace
    from penstock.workspace.router_store import read_dead_letters

    with Workspace.open(workspace, read_only=True) as opened:
        letters = read_dead_letters(opened.path)
    shown = [each for each in letters if code is None or each.code == code]
    if as_json:
        for letter in shown:
            print_json(_dead_letter_row(letter))
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("number", justify="right")
    for column in ("refused", "document", "code", "message"):
        table.add_column(column)
    for letter in shown:
        table.add_row(
            str(letter.number),
            f"{letter.refused_at:%Y-%m-%d %H:%M}",
            letter.document.identity,
            letter.code,
            one_line(letter.message),
        )
    if shown:
        print_table(table)
    note(plural(len(shown), "dead letter"))


def _dead_letter_row(letter: StoredDeadLetter) -> dict[str, Any]:
    return {
        "type": "dead letter",
        "number": letter.number,
        "refused_at": letter.refused_at.isoformat(),
        "document": letter.document.identity,
        "publisher": letter.document.header.publisher,
        "bytes": len(letter.document.content),
        "code": letter.code,
        "message": letter.message,
        "report": None if letter.report is None else json.loads(letter.report),
    }


@router_app.command("forget")
def forget(
    neighbour: Annotated[
        str, typer.Argument(metavar="NAME", help="Name of the neighbour.", show_default=False)
    ],
    *,
    workspace: WorkspaceOption = Path(),
    force: ForceRemovalOption = False,
    as_json: JsonOption = False,
) -> None:
    """Remove a neighbour that is no longer one, with the documents that wait for it.

    The router must not be running. As long as a neighbour is known that never connects, documents
    are kept for it, and the other neighbours send this router everything.
    """
    from penstock.workspace import Workspace
    from penstock.workspace.router_store import LOCK, forget_neighbour

    with Workspace.open(workspace) as opened, opened.lock(LOCK, wait=False):
        what = f"the neighbour `{neighbour}` and the documents that wait for it"
        confirm_removal(what, force=force, as_json=as_json)
        forget_neighbour(opened.path, neighbour)
    if as_json:
        print_json({"type": "summary", "forgotten": neighbour})
    else:
        note(f"{neighbour} is forgotten")


# Clients


@router_app.command("publish")
def publish(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DOCUMENT", help=DOCUMENTS_HELP, show_default=False),
    ] = None,
    *,
    connect: RouterAddressOption,
    name: Annotated[str, typer.Option(help="Name of this client (default: your login name).")] = "",
    publisher: Annotated[
        str, typer.Option(help="Name of the publisher (default: the name of this client).")
    ] = "",
    schema: Annotated[str, typer.Option(help="Name of the documents' schema.")] = "",
    field: Annotated[
        list[str] | None,
        typer.Option("--field", metavar="NAME=VALUE", help="A header field (repeatable)."),
    ] = None,
    token_file: TokenFileOption = None,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Publish documents to a router, and wait until it has stored them.

    Connects again if the connection breaks. A document that was published before is a duplicate;
    a malformed one is refused. Exits with 3 if any was refused.
    """
    from penstock.documents import Header

    inputs = document_inputs(files or [])
    client_name = name or login_name()
    header = Header(
        publisher=publisher or client_name,
        schema=schema,
        fields=bindings(field, "--field", "NAME=VALUE"),
    )
    client = _client(connect, client_name, token_file, tls_authorities)
    counts = _run(_publish(client, inputs, header, as_json=as_json))
    if as_json:
        print_json({"type": "summary", **counts})
    else:
        parts = [f"{plural(counts['accepted'], 'document')} published"]
        if counts["duplicate"]:
            parts.append(f"{counts['duplicate']:,} known")
        if counts["refused"]:
            parts.append(f"{counts['refused']:,} refused")
        note(", ".join(parts))
    if counts["refused"]:
        raise typer.Exit(ExitCode.INPUT_REFUSED)


async def _publish(
    client: RouterClient, inputs: Sequence[DocumentInput], header: Header, *, as_json: bool
) -> dict[str, int]:
    from penstock.documents import Document

    counts = {"accepted": 0, "duplicate": 0, "refused": 0}
    waiting: list[tuple[DocumentInput, Document, asyncio.Future[Receipt]]] = []

    async def show_first() -> None:
        given, document, future = waiting.pop(0)
        receipt = await future
        counts[receipt.outcome] += 1
        _show_receipt(given, document, receipt, as_json=as_json)

    async with client:
        await client.connected()
        for each in progress(inputs, "publishing"):
            document = Document(each.content(), replace(header))
            waiting.append((each, document, await client.publish(document)))
            while waiting and waiting[0][2].done():
                await show_first()
        while waiting:
            await show_first()
    return counts


def _show_receipt(
    given: DocumentInput, document: Document, receipt: Receipt, *, as_json: bool
) -> None:
    if as_json:
        row: dict[str, Any] = {
            "type": "document",
            "file": str(given),
            "document": document.identity,
            "outcome": receipt.outcome,
        }
        if receipt.code:
            row |= {"code": receipt.code, "message": receipt.message}
        print_json(row)
        return
    reason = f": {receipt.message} [{receipt.code}]" if receipt.code else ""
    print_line(f"{receipt.outcome:<9}  {given}{reason}")


@router_app.command("subscribe")
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
    client = _client(connect, name, token_file, tls_authorities)
    limit = None if follow and count is None else count or 0
    _run(_subscribe(client, subscriptions, limit, as_json=as_json), is_endless=limit is None)


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
        await client.connected()
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


@router_app.command("unsubscribe")
def unsubscribe(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="SUBSCRIPTION", help="Subscription ids.", show_default=False),
    ] = None,
    *,
    connect: RouterAddressOption,
    name: Annotated[str, typer.Option(help="Name of the subscriber.", metavar="NAME")],
    every: Annotated[
        bool, typer.Option("--all", help="Remove all subscriptions of the subscriber.")
    ] = False,
    force: ForceRemovalOption = False,
    token_file: TokenFileOption = None,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove subscriptions at a router."""
    if every == bool(ids):
        raise typer.BadParameter("give subscriptions or --all", param_hint="SUBSCRIPTION, --all")
    what = f"all subscriptions of {name}" if every else plural(len(ids or ()), "subscription")
    confirm_removal(what, force=force, as_json=as_json)
    client = _client(connect, name, token_file, tls_authorities)

    async def remove() -> int:
        async with client:
            await client.connected()
            return await client.unsubscribe(ids or ())

    removed = _run(remove())
    if as_json:
        print_json({"type": "summary", "removed": removed})
    else:
        note(f"{plural(removed, 'subscription')} removed")


def _client(
    address: str, name: str, token_file: Path | None, authorities: Path | None
) -> RouterClient:
    """A client with the only token of its file, which is that of the router."""
    from penstock.service.router import Role, RouterClient, parse_address, read_tokens

    token, peer = None, ""
    if token_file is not None:
        routers = {
            each: known.token
            for each, known in read_tokens(token_file).items()
            if known.role is Role.ROUTER
        }
        if len(routers) != 1:
            raise error(
                "routing.token-file", f"{token_file} has {len(routers)} routers instead of one"
            )
        [(peer, token)] = routers.items()
    return RouterClient(
        parse_address(address),
        name=name,
        token=token,
        tls=_client_tls(authorities),
        router=peer,
    )


def _run(main: Coroutine[Any, Any, T], *, is_endless: bool = False) -> T:
    """Runs a client; SIGTERM ends it as Ctrl-C does, which is the normal end of an endless one."""
    from penstock.links import run

    async def stoppable() -> T:
        task = asyncio.create_task(main)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, task.cancel)
        return await task

    try:
        return run(stoppable())
    except asyncio.CancelledError:
        note("stopped")
        raise typer.Exit(ExitCode.SUCCESS if is_endless else ExitCode.CHECK_FAILED) from None
