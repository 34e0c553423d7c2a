"""Where a peer is in a tree: its state, its parent and its children."""

from __future__ import annotations

import random
from typing import Protocol

from penstock.overlay.interest import InterestModel
from penstock.overlay.membership.attach_attempt import AttachAttempt
from penstock.overlay.membership.children import Children
from penstock.overlay.membership.parent_link import ParentLink
from penstock.overlay.membership.transitions import (
    HAS_PARENT,
    MEMBERSHIP_TRANSITIONS,
    MembershipInput,
    MembershipState,
)
from penstock.overlay.options import PeerOptions
from penstock.overlay.peer_messages import AnyPeerMessage, Edge
from penstock.overlay.peer_outputs import PeerOutput, Send


class Host(Protocol):
    """What a membership needs of its peer."""

    name: str
    incarnation: int
    model: InterestModel
    options: PeerOptions
    random: random.Random
    outputs: list[PeerOutput]

    def spare_capacity(self) -> int:
        """Children that the peer can still take, over all its trees."""


class TreePosition:
    """The state of a membership, and the peers that it is linked to.

    There is an attempt in the states ``ATTEMPTS`` only, and a parent in ``HAS_PARENT`` only.

    Parameters
    ----------
    host
        The peer.
    source
        Name of the tree.
    agent
        The system agent, if there is one.
    """

    __slots__ = (
        "agent",
        "attempt",
        "children",
        "host",
        "name",
        "numbers",
        "parent",
        "phase_at",
        "source",
        "state",
    )

    def __init__(self, host: Host, source: str, agent: str | None) -> None:
        self.host = host
        self.name = host.name
        self.source = source
        self.agent = agent
        self.state = MembershipState.OUTSIDE
        self.phase_at: float | None = None
        """When the time of the present state is over."""

        self.parent: ParentLink | None = None
        self.attempt: AttachAttempt | None = None
        self.children = Children(host.incarnation)
        self.numbers = 0
        """Attempts, searches and requests to the agent so far."""

    @property
    def is_root(self) -> bool:
        """Whether this is the source."""
        return self.state is MembershipState.ROOT

    @property
    def is_connected(self) -> bool:
        """Whether the peer has a parent or is the source."""
        return self.state in HAS_PARENT or self.state is MembershipState.ROOT

    @property
    def path(self) -> tuple[str, ...]:
        """Ancestors, the source first, the parent last."""
        return () if self.parent is None else self.parent.path

    def is_parent(self, peer: str | None) -> bool:
        """Whether a peer is the parent."""
        return self.parent is not None and self.parent.name == peer

    def parent_by(self, sender: str, edge: Edge) -> ParentLink | None:
        """The parent, if it is the sender by the present edge."""
        parent = self.parent
        if parent is None or parent.edge != edge or parent.name != sender:
            return None
        return parent

    def has_place_for(self, joiner: str) -> bool:
        """Whether a peer can become a child."""
        return self.children.have_place_for(joiner, self.host.spare_capacity())

    def next_number(self) -> int:
        """A number for the next request."""
        self.numbers += 1
        return self.numbers

    def go(self, given: MembershipInput) -> None:
        """Change the state by the table."""
        self.state = MEMBERSHIP_TRANSITIONS[self.state][given]
        self.phase_at = None

    def allows(self, given: MembershipInput) -> bool:
        """Whether an input is possible in the present state."""
        return given in MEMBERSHIP_TRANSITIONS[self.state]

    def send(self, peer: str, message: AnyPeerMessage) -> None:
        """Send a message."""
        self.host.outputs.append(Send(peer, message))

    def emit(self, output: PeerOutput) -> None:
        """Tell the driver."""
        self.host.outputs.append(output)
