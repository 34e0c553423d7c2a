"""``penstock overlay``: looks at the trees of a running overlay, and runs its system agent."""

from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.text import Text
from rich.tree import Tree

from penstock.cli.console import note, out, print_json, print_line
from penstock.cli.link_options import AuthoritiesOption, MetricsOption, TlsKeyOption
from penstock.cli.options import JsonOption
from penstock.cli.peer_options import (
    AdvertiseOption,
    GroupTokenOption,
    InsecureOption,
    ListenOption,
    PeerCertificateOption,
    client_options,
    service_options,
)

if TYPE_CHECKING:
    from penstock.links import Address
    from penstock.service.peer.options import PeerServiceOptions
    from penstock.service.peer.tree_crawl import CrawledTree

overlay_app = typer.Typer(
    name="overlay",
    no_args_is_help=True,
    help="Look at the trees of a running overlay, or run its system agent.",
)

PeerAddressOption = Annotated[
    str,
    typer.Option(
        "--connect",
        metavar="ADDRESS",
        help="Where any peer of the overlay listens: HOST:PORT or unix:PATH.",
        show_default=False,
    ),
]


@overlay_app.command("watch")
def watch(
    *,
    connect: PeerAddressOption,
    every: Annotated[
        float,
        typer.Option("--every", min=0.1, metavar="SECONDS", help="Time between two displays."),
    ] = 2.0,
    count: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="End after N displays.", show_default=False),
    ] = None,
    token_file: GroupTokenOption = None,
    insecure: InsecureOption = False,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the trees that a peer is in, repeatedly, until Ctrl-C.

    Each peer is shown with its overhead, which is also its colour, its position in the stream, and
    the documents that it misses. With --json, every tree is one line.
    """
    address, options = client_options(connect, token_file, insecure, tls_authorities)
    console = out()
    is_live = console.is_terminal and not as_json
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        live = stack.enter_context(Live(console=console, auto_refresh=False)) if is_live else None
        looks = 0
        while True:
            trees = _look(address, options)
            if as_json:
                for tree in trees:
                    print_json(_row(tree))
            elif live is not None:
                live.update(_rendered(trees), refresh=True)
            else:
                console.print(_rendered(trees), soft_wrap=True)
            looks += 1
            if looks == count:
                return
            time.sleep(every)


@overlay_app.command("draw")
def draw(
    *,
    connect: PeerAddressOption,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            "--out",
            metavar="FILE",
            dir_okay=False,
            help="The picture; its name ends in `.svg` or, with the extra `lab`, in `.png`.",
        ),
    ] = Path("overlay.svg"),
    title: Annotated[
        str,
        typer.Option(
            metavar="TEXT", help="Title of the picture (default: the source and its peers)."
        ),
    ] = "",
    token_file: GroupTokenOption = None,
    insecure: InsecureOption = False,
    tls_authorities: AuthoritiesOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw the trees that a peer is in, coloured by overhead."""
    if output.suffix not in (".svg", ".png"):
        raise typer.BadParameter("the name ends in .svg or .png", param_hint="--output")
    address, options = client_options(connect, token_file, insecure, tls_authorities)
    trees = _look(address, options)
    pictures = [
        tree.picture(title or f"{tree.source.partition('@')[0]}: {len(tree.peers):,} peers")
        for tree in trees
    ]
    if output.suffix == ".png":
        from penstock.lab.tree_plots import write_png

        write_png(pictures, output)
    else:
        from penstock.overlay.tree_picture import svg_of

        output.write_text(svg_of(pictures), encoding="utf-8")
    if as_json:
        print_json(
            {"type": "summary", "file": str(output), "trees": [_row(each) for each in trees]}
        )
    else:
        note(f"{output} shows {sum(len(each.peers) for each in trees):,} peers")


@overlay_app.command("agent")
def agent(
    *,
    listen: ListenOption = "127.0.0.1:0",
    advertise: AdvertiseOption = None,
    extra_seeds: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Peers to join at besides the source: N that joined recently."
        ),
    ] = 0,
    move_wait_seconds: Annotated[
        float, typer.Option(min=0.0, metavar="S", help="Time between two moves of the same peer.")
    ] = 0.0,
    top: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="C",
            help="Let only the C peers move in a round that cost their parents the most.",
            show_default=False,
        ),
    ] = None,
    round_seconds: Annotated[
        float,
        typer.Option(metavar="S", help="Length of a round, from the first request on; with --top."),
    ] = 1.0,
    delta_threshold: Annotated[
        float,
        typer.Option(min=0.0, metavar="D", help="Deny moves that would save fewer documents."),
    ] = 0.0,
    token_file: GroupTokenOption = None,
    insecure: InsecureOption = False,
    tls_certificate: PeerCertificateOption = None,
    tls_key: TlsKeyOption = None,
    tls_authorities: AuthoritiesOption = None,
    metrics: MetricsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run the system agent in the foreground, until SIGTERM or Ctrl-C.

    Peers that are started with --agent and its address learn from it which sources there are and
    where to join, and ask it before they move. While it is down, they use the seeds that they know.
    """
    from penstock.links import run
    from penstock.overlay import AgentOptions
    from penstock.service.peer.options import AGENT_LABEL
    from penstock.service.peer.process import Listening, run_agent

    options = service_options(
        label=AGENT_LABEL,
        listen=listen,
        advertise=advertise,
        token_file=token_file,
        insecure=insecure,
        certificate=tls_certificate,
        key=tls_key,
        authorities=tls_authorities,
        metrics=metrics,
    )
    policy = AgentOptions(
        extra_seeds=extra_seeds,
        move_wait_seconds=move_wait_seconds,
        top=top,
        round_seconds=round_seconds,
        delta_threshold=delta_threshold,
    )

    def listening(report: Listening) -> None:
        where = None if report.metrics is None else str(report.metrics)
        if as_json:
            print_json(
                {
                    "type": "listening",
                    "agent": report.name,
                    "address": str(report.address),
                    "metrics": where,
                }
            )
        else:
            print_line(f"agent {report.name} listens on {report.address}")
            if where is not None:
                print_line(f"metrics: http://{where}/metrics")
        sys.stdout.flush()

    run(run_agent(options, policy, listening))
    note("stopped")


def _look(address: Address, options: PeerServiceOptions) -> list[CrawledTree]:
    from penstock.links import run
    from penstock.service.peer.tree_crawl import crawl

    return run(crawl(address, options))


def _row(tree: CrawledTree) -> dict[str, Any]:
    peers = []
    for name, peer in tree.peers.items():
        status = tree.status(name)
        row: dict[str, Any] = {"peer": name, "parent": peer.parent}
        if status is not None:
            row |= {
                "state": status.state,
                "position": status.position,
                "missing": status.missing,
                "overhead": status.overhead,
                "children": len(status.children),
            }
        peers.append(row)
    return {"type": "tree", "source": tree.source, "peers": peers}


def _rendered(trees: list[CrawledTree]) -> Group:
    parts = []
    for tree in trees:
        branches: dict[str, Tree] = {}
        for name, peer in tree.peers.items():
            label = _label(tree, name)
            above = branches.get(peer.parent) if peer.parent is not None else None
            branches[name] = Tree(label) if above is None else above.add(label)
        parts.append(branches[tree.source])
    return Group(*parts)


def _label(tree: CrawledTree, name: str) -> Text:
    from penstock.overlay.tree_picture import colour_of

    status = tree.status(name)
    if status is None:
        return Text.assemble((name, colour_of(None)), " does not answer")
    is_source = name == tree.source
    label = Text(name, style="bold" if is_source else colour_of(status.overhead))
    if status.state not in ("connected", "root"):
        label.append(f"  {status.state}")
    if not is_source:
        label.append(f"  overhead {status.overhead:.0%}")
    label.append(f"  at {status.position:,}")
    if status.missing:
        label.append(f"  lacks {status.missing:,}", style="yellow")
    return label
