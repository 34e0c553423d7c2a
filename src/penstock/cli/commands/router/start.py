"""``penstock router --listen``: runs a router."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from penstock.cli.commands.router.client import TokenFileOption, client_tls
from penstock.cli.console import note, print_json, print_line
from penstock.cli.link_options import AuthoritiesOption, MetricsOption, TlsKeyOption
from penstock.cli.log_output import show_warnings
from penstock.cli.options import EXISTING_FILE, JsonOption, WorkspaceOption

if TYPE_CHECKING:
    from penstock.links import Address, TcpAddress
    from penstock.routing import AnnotationOptions
    from penstock.service.router import RouterOptions
    from penstock.service.router.process import Listening


class Overflow(StrEnum):
    """Which document is discarded; see :data:`penstock.routing.OverflowPolicy`."""

    DISCARD_OLDEST = "discard-oldest"
    DISCARD_NEWEST = "discard-newest"


InsecureOption = Annotated[
    bool,
    typer.Option("--insecure", help="Do without tokens, on addresses of this machine only."),
]


def start(
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
        client_tls=client_tls(authorities),
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
