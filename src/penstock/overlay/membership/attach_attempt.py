"""An attach attempt of a peer's own, and the places that it tries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from penstock.overlay.interest import Interest
from penstock.overlay.peer_messages import Attempt, Edge


class Displacement(NamedTuple):
    """A peer whose place this one takes, and which is to attach here."""

    peer: str
    passed_on: str | None = None
    """The child whose place it takes in turn, if there is no other."""


class Candidate(NamedTuple):
    """A peer that has spare capacity."""

    cost: float
    depth: int
    tie: float
    """Random: decides between equal candidates."""

    peer: str
    displaced: Displacement | None = None
    """The child of that peer whose place is taken."""


@dataclass(slots=True)
class AttachAttempt:
    """An attempt that is on its way: what was stated to whom."""

    attempt: Attempt
    target: str
    edge: Edge | None
    """The edge that it keeps, if it widens the filter at the parent."""

    displaced: Displacement | None
    """The child of the target whose place it takes."""

    interest: Interest
    version: int
    tries: int = 0
