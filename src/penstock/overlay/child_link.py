"""A child of a peer, as the peer knows it."""

from __future__ import annotations

from penstock.overlay.interest import Interest
from penstock.overlay.peer_messages import Attempt, Edge


class ChildLink:
    """A child in one tree: its filter, and what was sent to it."""

    __slots__ = (
        "ask_again_at",
        "asked",
        "asked_at",
        "attempt",
        "displaced",
        "edge",
        "filter",
        "heard_at",
        "is_active",
        "last_sent",
        "name",
        "replacement",
        "sent",
        "version",
    )

    def __init__(
        self, name: str, attempt: Attempt, edge: Edge, interest: Interest, now: float
    ) -> None:
        self.name = name
        self.attempt = attempt
        """The child's attempt that made the edge."""

        self.edge = edge
        self.filter = interest
        self.version = 0
        self.is_active = False
        """Whether the confirmation has passed: documents are sent from then on."""

        self.displaced: str | None = None
        """The child whose place this one takes as soon as it is active."""

        self.replacement: str | None = None
        """The peer that takes the child's place, if the child leaves."""

        self.last_sent = 0
        self.sent = 0
        """Documents of the window that match the filter, as bits of the peer's statistics."""

        self.heard_at = now
        self.asked_at = float("-inf")
        """When the child was last asked to move."""

        self.asked = 0
        """How often the child was asked to move."""

        self.ask_again_at = float("-inf")
