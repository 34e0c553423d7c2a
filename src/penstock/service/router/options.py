"""How a router process behaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import get_args

from penstock.errors import error
from penstock.links import Address, ClientTls, LinkOptions, ServerTls, TcpAddress
from penstock.routing import AnnotationOptions, OverflowPolicy, RouterLimits
from penstock.routing.limits import AGGREGATE_NODES_MAX
from penstock.service.addresses import is_loopback
from penstock.service.router.limits import ROUTER_LINK_LIMITS
from penstock.service.router.tokens import PeerToken, Role


@dataclass(frozen=True, slots=True, kw_only=True)
class RouterOptions:
    """Options of a router process."""

    name: str
    """The router's name; neighbours know it by this name."""

    listen: Address
    connect: Mapping[str, Address] = field(default_factory=dict)
    """Neighbours that this router connects to; the others connect to it."""

    tokens: Mapping[str, PeerToken] = field(default_factory=dict)
    insecure: bool = False
    """Whether peers without a token are accepted; only on addresses of this machine."""

    server_tls: ServerTls | None = None
    client_tls: ClientTls | None = None
    metrics: TcpAddress | None = None
    """Where to serve metrics over HTTP, if anywhere."""

    heartbeat_seconds: float = 5.0
    heartbeat_timeout_seconds: float = 15.0
    reconnect_seconds_max: float = 30.0
    """The longest time between two attempts to connect."""

    limits: RouterLimits = field(default_factory=RouterLimits)
    annotations: AnnotationOptions = field(default_factory=AnnotationOptions)
    """Which annotations are sent to neighbours, and what share of those received is verified."""

    aggregate_nodes: int = AGGREGATE_NODES_MAX
    """Pattern nodes of the interest that is announced to each neighbour."""

    overflow: OverflowPolicy = "discard-oldest"
    """Which document is discarded when too many wait for a neighbour that is not connected."""

    follow_workspace: bool = True
    """Whether the workspace's inbox, subscriptions and mappings take part."""

    def __post_init__(self) -> None:
        self.link_options()
        if self.aggregate_nodes < 1:
            raise error("routing.bound", f"the bound of pattern nodes is {self.aggregate_nodes}")
        if self.overflow not in get_args(OverflowPolicy):
            raise error("routing.option", f"unknown overflow policy `{self.overflow}`")
        if self.name in self.connect:
            raise error("routing.option", f"`{self.name}` cannot connect to itself")
        if self.insecure:
            for address in (self.listen, *self.connect.values()):
                if not is_loopback(address):
                    raise error(
                        "routing.insecure", f"{address} is not an address of this machine only"
                    )
        elif not self.tokens:
            raise error("routing.insecure", "there are no tokens")
        for name in self.connect:
            known = self.tokens.get(name)
            if not self.insecure and (known is None or known.role is not Role.ROUTER):
                raise error("routing.insecure", f"there is no token of router `{name}`")

    def link_options(self) -> LinkOptions:
        """The options of the router's links."""
        return LinkOptions(
            name=self.name,
            limits=ROUTER_LINK_LIMITS,
            capabilities=(Role.ROUTER.value,),
            heartbeat_seconds=self.heartbeat_seconds,
            heartbeat_timeout_seconds=self.heartbeat_timeout_seconds,
        )

    def role_of(self, name: str, capabilities: frozenset[str]) -> Role:
        """What a peer may do: as the token file says, or without tokens as it says itself."""
        known = self.tokens.get(name)
        if known is not None:
            return known.role
        return Role.ROUTER if Role.ROUTER.value in capabilities else Role.CLIENT

    def token_of(self, name: str) -> bytes | None:
        """The token that is shared with a peer."""
        known = self.tokens.get(name)
        return None if known is None else known.token
