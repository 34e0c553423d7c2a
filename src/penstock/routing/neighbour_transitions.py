"""What a router knows of a neighbour, as states and transitions in one table.

A test walks every pair of status and input, and the figure of the documentation is generated from
the table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class NeighbourStatus(StrEnum):
    """The state of the link to a neighbour, and of the replica of its interest."""

    UNKNOWN = "unknown"
    """The link is down, and the interest is unknown: it counts as everything."""

    SYNCHRONISING = "synchronising"
    """The link is up, the interest is unknown and has been requested."""

    IN_STEP = "in step"
    """The link is up, and the replica is up to date but for messages on their way."""

    VERIFYING = "verifying"
    """The link is up; whether the replica is up to date has been asked."""

    REFUSED = "refused"
    """The link is up. The neighbour stated an interest that was refused, so it counts as
    everything."""

    DOWN = "down"
    """The link is down; the replica is kept."""


class NeighbourInput(StrEnum):
    """What can happen on the link to a neighbour."""

    LINK_UP = "link up"
    LINK_DOWN = "link down"
    LINK_RESET = "link reset"
    DOCUMENT = "document"
    DIGEST_REQUEST = "digest request"
    DELTA = "delta"
    BAD_DELTA = "bad delta"
    CONFIRMATION = "confirmation"
    BAD_CONFIRMATION = "bad confirmation"
    SNAPSHOT = "snapshot"
    BAD_SNAPSHOT = "bad snapshot"
    LATE_ANSWER = "late answer"
    """A confirmation or snapshot that does not answer the latest request: a session that is resumed
    transmits it although its request was repeated since."""


_S = NeighbourStatus
_I = NeighbourInput

NEIGHBOUR_TRANSITIONS: Final[dict[NeighbourStatus, dict[NeighbourInput, NeighbourStatus]]] = {
    _S.UNKNOWN: {
        _I.LINK_UP: _S.SYNCHRONISING,
        _I.LINK_DOWN: _S.UNKNOWN,
        _I.LINK_RESET: _S.UNKNOWN,
    },
    # Without a replica, no delta and no confirmation fits.
    _S.SYNCHRONISING: {
        _I.LINK_UP: _S.SYNCHRONISING,
        _I.LINK_DOWN: _S.UNKNOWN,
        _I.LINK_RESET: _S.UNKNOWN,
        _I.DOCUMENT: _S.SYNCHRONISING,
        _I.DIGEST_REQUEST: _S.SYNCHRONISING,
        _I.BAD_DELTA: _S.SYNCHRONISING,
        _I.BAD_CONFIRMATION: _S.SYNCHRONISING,
        _I.SNAPSHOT: _S.IN_STEP,
        _I.BAD_SNAPSHOT: _S.REFUSED,
        _I.LATE_ANSWER: _S.SYNCHRONISING,
    },
    _S.IN_STEP: {
        _I.LINK_UP: _S.VERIFYING,
        _I.LINK_DOWN: _S.DOWN,
        _I.LINK_RESET: _S.DOWN,
        _I.DOCUMENT: _S.IN_STEP,
        _I.DIGEST_REQUEST: _S.IN_STEP,
        _I.DELTA: _S.IN_STEP,
        _I.BAD_DELTA: _S.VERIFYING,
        _I.CONFIRMATION: _S.IN_STEP,
        _I.BAD_CONFIRMATION: _S.VERIFYING,
        _I.SNAPSHOT: _S.IN_STEP,
        _I.BAD_SNAPSHOT: _S.REFUSED,
        _I.LATE_ANSWER: _S.IN_STEP,
    },
    # A request is on its way. Deltas from before its answer may not fit. A confirmation does not
    # fit if such a delta changed the replica after the request was sent.
    _S.VERIFYING: {
        _I.LINK_UP: _S.VERIFYING,
        _I.LINK_DOWN: _S.DOWN,
        _I.LINK_RESET: _S.DOWN,
        _I.DOCUMENT: _S.VERIFYING,
        _I.DIGEST_REQUEST: _S.VERIFYING,
        _I.DELTA: _S.VERIFYING,
        _I.BAD_DELTA: _S.VERIFYING,
        _I.CONFIRMATION: _S.IN_STEP,
        _I.BAD_CONFIRMATION: _S.VERIFYING,
        _I.SNAPSHOT: _S.IN_STEP,
        _I.BAD_SNAPSHOT: _S.REFUSED,
        _I.LATE_ANSWER: _S.VERIFYING,
    },
    # Each request is caused by a message of the neighbour, so two routers cannot make each other
    # send without end.
    _S.REFUSED: {
        _I.LINK_UP: _S.SYNCHRONISING,
        _I.LINK_DOWN: _S.UNKNOWN,
        _I.LINK_RESET: _S.UNKNOWN,
        _I.DOCUMENT: _S.REFUSED,
        _I.DIGEST_REQUEST: _S.REFUSED,
        _I.BAD_DELTA: _S.SYNCHRONISING,
        _I.BAD_CONFIRMATION: _S.SYNCHRONISING,
        _I.SNAPSHOT: _S.IN_STEP,
        _I.BAD_SNAPSHOT: _S.REFUSED,
        _I.LATE_ANSWER: _S.REFUSED,
    },
    _S.DOWN: {
        _I.LINK_UP: _S.VERIFYING,
        _I.LINK_DOWN: _S.DOWN,
        _I.LINK_RESET: _S.DOWN,
    },
}
"""Status and input to the next status. Where a message is missing, the link is down, or the message
is classified as a bad one."""

LINK_IS_UP: Final = frozenset({_S.SYNCHRONISING, _S.IN_STEP, _S.VERIFYING, _S.REFUSED})
"""Statuses in which messages are sent and received."""

INTEREST_IS_KNOWN: Final = frozenset({_S.IN_STEP, _S.VERIFYING, _S.DOWN})
"""Statuses with a replica."""

REQUEST_IS_SENT: Final = frozenset({_S.SYNCHRONISING, _S.VERIFYING})
"""Statuses that a router enters with a digest request."""

REQUEST_IS_REPEATED: Final = frozenset({_I.LINK_UP, _I.BAD_CONFIRMATION})
"""Inputs after which the digest is requested even if the status remains the same: a request may be
lost with its session, and a confirmation that does not fit was its answer."""
