"""How a peer process behaves."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from penstock.errors import error
from penstock.links import (
    Address,
    ClientTls,
    GroupToken,
    LinkOptions,
    ServerTls,
    TcpAddress,
)
from penstock.links.limits import TOKEN_BYTES_MIN
from penstock.overlay import PeerOptions
from penstock.service.addresses import is_loopback
from penstock.service.peer.limits import PEER_LINK_LIMITS, TOKEN_FILE_BYTES_MAX
from penstock.service.peer.peer_names import peer_name

AGENT_LABEL: Final = "agent"
"""What the name of every system agent begins with: its address is all that peers must know."""

_LABEL = re.compile(r"\A[A-Za-z0-9._-]{1,64}\Z")
_WILDCARDS = frozenset({"0.0.0.0", "::", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class PeerServiceOptions:
    """Options of a peer process."""

    label: str
    """What the peer's name begins with; its address follows."""

    listen: Address
    advertise: Address | None = None
    """Where others reach this peer, if not at ``listen``."""

    token: bytes | None = None
    """The token of the group; every member has it."""

    insecure: bool = False
    """Whether there is no token; only on addresses of this machine."""

    server_tls: ServerTls | None = None
    client_tls: ClientTls | None = None
    agent: Address | None = None
    """Where the system agent listens, if there is one."""

    metrics: TcpAddress | None = None
    """Where to serve metrics over HTTP, if anywhere."""

    peer: PeerOptions = field(default_factory=PeerOptions)

    def __post_init__(self) -> None:
        if not _LABEL.match(self.label):
            raise error(
                "overlay.option",
                f"a label has 1 to 64 ASCII letters, digits and ._-: {self.label!r}",
            )
        if self.token is not None:
            GroupToken(self.token)
        elif not self.insecure:
            raise error("overlay.insecure", "there is no token")
        for address in (self.listen, self.advertise, self.agent):
            if address is not None:
                self.check_address(address)
        reached = self.advertise or self.listen
        if isinstance(reached, TcpAddress) and reached.host in _WILDCARDS:
            raise error("overlay.option", f"peers cannot connect to {reached}: advertise another")

    @property
    def agent_name(self) -> str | None:
        """The name of the system agent."""
        return None if self.agent is None else peer_name(AGENT_LABEL, self.agent)

    def check_address(self, address: Address) -> None:
        """Raises ``overlay.insecure`` if an address is not to be used without a token."""
        if self.token is None and not is_loopback(address):
            raise error("overlay.insecure", f"{address} is not an address of this machine only")

    def link_options(self, name: str) -> LinkOptions:
        """The options of the peer's links."""
        # A process that is starved by others is slow, not dead; the overlay has heartbeats of its
        # own.
        return LinkOptions(
            name=name,
            limits=PEER_LINK_LIMITS,
            heartbeat_seconds=5.0,
            heartbeat_timeout_seconds=20.0,
            handshake_seconds=20.0,
            close_seconds=1.0,
        )


def read_token(path: Path) -> bytes:
    """The token of a group: a file with at least 32 hexadecimal digits.

    Raises
    ------
    OverlayError
        ``overlay.token-file``: it contains anything else; the message does not quote it.
    """
    with path.open("rb") as file:
        content = file.read(TOKEN_FILE_BYTES_MAX + 1)
    try:
        token = bytes.fromhex(content.decode("ascii").strip())
    except ValueError:
        token = b""
    if len(content) > TOKEN_FILE_BYTES_MAX or len(token) < TOKEN_BYTES_MIN:
        raise error(
            "overlay.token-file",
            f"{path} does not consist of at least {2 * TOKEN_BYTES_MIN} hexadecimal digits",
        )
    return token
