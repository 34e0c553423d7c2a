"""The parent of a peer in one tree, as the peer knows it."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.overlay.peer_messages import Attempt, Edge


@dataclass(slots=True)
class ParentLink:
    """A confirmed edge to a parent."""

    name: str
    attempt: Attempt
    """The attempt that made the edge."""

    edge: Edge
    path: tuple[str, ...]
    """Ancestors, the source first, the parent last."""

    heard_at: float
