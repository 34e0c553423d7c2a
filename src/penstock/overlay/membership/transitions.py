"""A peer's membership in a tree, as states and transitions in one table.

A test walks every pair of state and input, and the figure of the documentation is generated from
the table.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class MembershipState(StrEnum):
    """What a peer does in a tree."""

    OUTSIDE = "outside"
    """Not in the tree: not yet, or no longer."""

    LOCATING = "locating"
    """The agent was asked for seeds."""

    JOINING = "joining"
    """Seeds were asked for a place."""

    ATTACHING = "attaching"
    """An attach attempt is on its way; there is no parent."""

    WAITING = "waiting"
    """There is no parent; the peer waits before it joins again."""

    CONNECTED = "connected"
    """There is a parent."""

    ASKING = "asking"
    """Connected; the agent was asked whether the peer may move."""

    SEARCHING = "searching"
    """Connected; other peers were asked what the peer would cost them."""

    RELOCATING = "relocating"
    """Connected to a parent that leaves; its replacement was asked for a place."""

    MOVING = "moving"
    """Connected; an attach attempt to another parent, or with a wider filter, is on its way."""

    LEAVING = "leaving"
    """Connected; the children find other parents."""

    ROOT = "root"
    """The source."""


class MembershipInput(StrEnum):
    """What can happen to a membership."""

    SERVE = "serve"
    ASK_AGENT = "join by agent"
    ASK_SEEDS = "join by seeds"
    SEEDS = "seeds"
    CANDIDATES = "candidates"
    NO_CANDIDATE = "no candidate"
    CONFIRMED = "confirmed"
    REFUSED_NEXT = "refused, next candidate"
    REFUSED_LAST = "refused, no candidate left"
    PARENT_LOST = "parent lost"
    TARGET_LOST = "parent lost while it is asked"
    """The parent is lost to which the attach attempt is on its way."""

    ASK_ELIGIBILITY = "asked to move, by agent"
    BEGIN_SEARCH = "asked to move"
    GRANTED = "granted"
    DENIED = "denied"
    PLACE_FOUND = "better place found"
    NO_PLACE = "no better place"
    REINSERT = "parent leaves, or displaced"
    REPLACE = "replaces its parent"
    WIDEN = "filter widened"
    LEAVE_INTERIOR = "leave, with children"
    LEAVE_LEAF = "leave"
    HANDED_OVER = "children gone"


_S = MembershipState
_I = MembershipInput

MEMBERSHIP_TRANSITIONS: Final[dict[MembershipState, dict[MembershipInput, MembershipState]]] = {
    _S.OUTSIDE: {
        _I.SERVE: _S.ROOT,
        _I.ASK_AGENT: _S.LOCATING,
        _I.ASK_SEEDS: _S.JOINING,
    },
    _S.LOCATING: {
        _I.SEEDS: _S.JOINING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.JOINING: {
        _I.CANDIDATES: _S.ATTACHING,
        _I.NO_CANDIDATE: _S.WAITING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.ATTACHING: {
        _I.CONFIRMED: _S.CONNECTED,
        _I.REFUSED_NEXT: _S.ATTACHING,
        _I.REFUSED_LAST: _S.WAITING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    # A late answer to the last request is as good as one to the next.
    _S.WAITING: {
        _I.CANDIDATES: _S.ATTACHING,
        _I.ASK_AGENT: _S.LOCATING,
        _I.ASK_SEEDS: _S.JOINING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.CONNECTED: {
        _I.PARENT_LOST: _S.WAITING,
        _I.ASK_ELIGIBILITY: _S.ASKING,
        _I.BEGIN_SEARCH: _S.SEARCHING,
        _I.REINSERT: _S.RELOCATING,
        _I.REPLACE: _S.MOVING,
        _I.WIDEN: _S.MOVING,
        _I.LEAVE_INTERIOR: _S.LEAVING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    # An agent's round may be long: whatever cannot wait for its end comes first.
    _S.ASKING: {
        _I.GRANTED: _S.SEARCHING,
        _I.DENIED: _S.CONNECTED,
        _I.REINSERT: _S.RELOCATING,
        _I.REPLACE: _S.MOVING,
        _I.WIDEN: _S.MOVING,
        _I.PARENT_LOST: _S.WAITING,
        _I.LEAVE_INTERIOR: _S.LEAVING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.SEARCHING: {
        _I.PLACE_FOUND: _S.MOVING,
        _I.NO_PLACE: _S.CONNECTED,
        _I.REINSERT: _S.RELOCATING,
        _I.PARENT_LOST: _S.WAITING,
        _I.LEAVE_INTERIOR: _S.LEAVING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.RELOCATING: {
        _I.CANDIDATES: _S.MOVING,
        _I.NO_CANDIDATE: _S.CONNECTED,
        _I.PARENT_LOST: _S.WAITING,
        _I.LEAVE_INTERIOR: _S.LEAVING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    # The attempt outlives the old parent.
    _S.MOVING: {
        _I.CONFIRMED: _S.CONNECTED,
        _I.REFUSED_NEXT: _S.MOVING,
        _I.REFUSED_LAST: _S.CONNECTED,
        _I.PARENT_LOST: _S.ATTACHING,
        _I.TARGET_LOST: _S.WAITING,
        _I.LEAVE_INTERIOR: _S.LEAVING,
        _I.LEAVE_LEAF: _S.OUTSIDE,
    },
    _S.LEAVING: {
        _I.PARENT_LOST: _S.OUTSIDE,
        _I.HANDED_OVER: _S.OUTSIDE,
    },
    _S.ROOT: {},
}
"""State and input to the next state. Messages that are not listed for a state are answered without
leaving it, or ignored as late."""

HAS_PARENT: Final = frozenset(
    {_S.CONNECTED, _S.ASKING, _S.SEARCHING, _S.RELOCATING, _S.MOVING, _S.LEAVING}
)
"""States with a parent."""

RELAYS: Final = frozenset(
    {_S.CONNECTED, _S.ASKING, _S.SEARCHING, _S.RELOCATING, _S.LEAVING, _S.ROOT}
)
"""States in which attach requests of others pass. A peer that is attaching or moving refuses them
from the moment its own attempt begins until it is confirmed or given up: this excludes cycles."""

ACCEPTS_CHILDREN: Final = RELAYS - {_S.LEAVING}
"""States in which a peer takes further children."""

ATTEMPTS: Final = frozenset({_S.ATTACHING, _S.MOVING})
"""States with an attach attempt of the peer's own."""

SEEKS_PLACE: Final = frozenset({_S.JOINING, _S.RELOCATING})
"""States in which answers to ``Add`` are collected."""
