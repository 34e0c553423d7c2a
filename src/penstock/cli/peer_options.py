"""Options that the commands about the overlay share."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from penstock.cli.options import EXISTING_FILE

if TYPE_CHECKING:
    from penstock.links import Address, TcpAddress
    from penstock.overlay import PeerOptions
    from penstock.service.peer.options import PeerServiceOptions

GroupTokenOption = Annotated[
    Path | None,
    typer.Option(
        "--token-file",
        help="File with the token that all peers share: 32 or more hexadecimal digits.",
        **EXISTING_FILE,
    ),
]
InsecureOption = Annotated[
    bool,
    typer.Option("--insecure", help="Do without a token, on addresses of this machine only."),
]

ListenOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Where to listen for peers: HOST:PORT or unix:PATH; port 0 takes a free one.",
    ),
]
AdvertiseOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Where peers reach this process, if not at --listen."),
]
PeerCertificateOption = Annotated[
    Path | None, typer.Option(help="Certificate of this process; turns TLS on.", **EXISTING_FILE)
]


class PlacementName(StrEnum):
    """What a moving peer minimises."""

    PATH_COST = "path-cost"
    OVERHEAD = "overhead"


class ChildChoiceName(StrEnum):
    """Which child is asked to move."""

    MARGINAL = "marginal"
    LEAST_OVERLAP = "least-overlap"


OverheadThresholdOption = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Share of extraneous documents above which a child is asked to move.",
        show_default="0.05",
    ),
]
DeltaThresholdOption = Annotated[
    float | None,
    typer.Option(
        metavar="N", help="Documents of the window that a move must save.", show_default="1"
    ),
]
MoveWaitOption = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Seconds that pass between two searches of this peer for a better place.",
        show_default="0",
    ),
]
PlacementOption = Annotated[
    PlacementName | None,
    typer.Option(
        help="What this peer minimises when it moves: documents that the new parent and its"
        " ancestors do not receive yet, or those that the new parent does not subscribe to.",
        show_default="path-cost",
    ),
]
ChildChoiceOption = Annotated[
    ChildChoiceName | None,
    typer.Option(
        help="Which child is asked to move: the one that contributes the most extraneous"
        " documents, or the one that has the least in common with this peer.",
        show_default="marginal",
    ),
]


def reorganisation_options(
    *,
    reorganise_seconds: float | None,
    overhead_threshold: float | None,
    delta_threshold: float | None,
    move_wait_seconds: float | None,
    placement: PlacementName | None,
    child_choice: ChildChoiceName | None,
) -> dict[str, Any]:
    """Those that are given, as arguments of :class:`~penstock.overlay.PeerOptions`."""
    from penstock.overlay import ChildChoice, Placement

    given = {
        "overhead_threshold": overhead_threshold,
        "delta_threshold": delta_threshold,
        "move_wait_seconds": move_wait_seconds,
        "placement": None if placement is None else Placement[placement.name],
        "child_choice": None if child_choice is None else ChildChoice[child_choice.name],
    }
    found = {name: value for name, value in given.items() if value is not None}
    # The others say what a peer does when its parent asks it to move; these, whom it asks itself.
    asks = found.keys() & {"overhead_threshold", "child_choice"}
    if asks and reorganise_seconds is None:
        raise typer.BadParameter(
            "without --reorganise-seconds this peer asks no child to move",
            param_hint=", ".join(f"--{name.replace('_', '-')}" for name in sorted(asks)),
        )
    return {"reorganise_seconds": reorganise_seconds, **found}


def tcp_address(text: str, option: str) -> TcpAddress:
    """An address of the form HOST:PORT."""
    from penstock.links import TcpAddress
    from penstock.service.router import parse_address

    address = parse_address(text)
    if not isinstance(address, TcpAddress):
        raise typer.BadParameter("give HOST:PORT", param_hint=option)
    return address


def client_options(
    connect: str, token_file: Path | None, insecure: bool, authorities: Path | None
) -> tuple[Address, PeerServiceOptions]:
    """The address and the options of a command that asks peers and is none itself."""
    from penstock.links import ClientTls, TcpAddress
    from penstock.service.peer.options import PeerServiceOptions, read_token
    from penstock.service.router import parse_address

    options = PeerServiceOptions(
        label="client",
        listen=TcpAddress("127.0.0.1", 0),
        token=None if token_file is None else read_token(token_file),
        insecure=insecure,
        client_tls=None if authorities is None else ClientTls(authorities=authorities),
    )
    return parse_address(connect), options


def service_options(
    *,
    label: str,
    listen: str,
    advertise: str | None,
    token_file: Path | None,
    insecure: bool,
    certificate: Path | None,
    key: Path | None,
    authorities: Path | None,
    metrics: str | None,
    agent: str | None = None,
    peer: PeerOptions | None = None,
) -> PeerServiceOptions:
    """The options of a process that others connect to: a peer, or the system agent."""
    from penstock.links import ClientTls, ServerTls
    from penstock.overlay import PeerOptions
    from penstock.service.peer.options import PeerServiceOptions, read_token
    from penstock.service.router import parse_address

    if (certificate is None) != (key is None):
        raise typer.BadParameter("give a certificate and its key", param_hint="--tls-key")
    return PeerServiceOptions(
        label=label,
        listen=parse_address(listen),
        advertise=None if advertise is None else parse_address(advertise),
        agent=None if agent is None else parse_address(agent),
        token=None if token_file is None else read_token(token_file),
        insecure=insecure,
        server_tls=(
            None
            if certificate is None or key is None
            else ServerTls(certificate=certificate, key=key)
        ),
        client_tls=None if authorities is None else ClientTls(authorities=authorities),
        metrics=None if metrics is None else tcp_address(metrics, "--metrics"),
        peer=peer or PeerOptions(),
    )
