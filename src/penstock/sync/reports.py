"""Reports to a client about its statements."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Outcome(StrEnum):
    """What happened to an operation of a client, other than being applied."""

    OVERWRITTEN = "overwritten"
    """A later operation of another client, who did not know this one, replaced its effect."""

    DELETED_UNDER = "deleted under"
    """Another client, who did not know this operation, deleted what it changed."""

    UNDONE = "undone"
    """The operation was undone, because a later one could not be applied otherwise, or because it
    would have closed a cycle."""

    REFUSED = "refused"
    """The operation could not be applied: what it refers to does not exist any more."""

    NOT_SELECTED = "not selected"
    """What the operation put into the document is not part of the client's subscription, so it left
    the cache."""

    SUSPENDED = "suspended"
    """The cache has no longer what a pending operation refers to. The server will decide it."""

    UNKNOWN = "unknown"
    """The server decided the statement, but its log does not reach back to that, so nobody knows
    what happened to its operations."""

    LOST = "lost"
    """The server had decided the statement, but was restored from an older state without it."""


@dataclass(frozen=True, slots=True)
class Report:
    """What happened to an operation of a client, and why."""

    outcome: Outcome
    statement: int
    """Number of the client's statement."""
    node: str
    """Identity of the node that it is about."""
    by: str
    """The client whose operation caused it; empty if there is none."""
    reason: str
    """For people."""
