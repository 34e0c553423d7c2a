"""What a peer asks its driver to do, and what it reports."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from penstock.overlay.interest import OverlayDocument
from penstock.overlay.peer_messages import AnyPeerMessage


class Send(msgspec.Struct, frozen=True, gc=False):
    """Send a message to a peer or to the agent."""

    peer: str
    message: AnyPeerMessage


class Deliver(msgspec.Struct, frozen=True, gc=False):
    """Hand a document to the subscriber: exactly once, and in order for each source."""

    source: str
    epoch: int
    sequence: int
    document: OverlayDocument


class Connected(msgspec.Struct, frozen=True):
    """The peer has a parent, and a subscription is in force: documents after ``sequence`` are
    delivered."""

    source: str
    parent: str
    epoch: int
    sequence: int
    is_move: bool
    """Whether the peer was connected before, and changed its place."""

    is_current: bool
    """Whether the present subscription is in force. If it was changed since the attempt began,
    another confirmation follows."""


class Disconnected(msgspec.Struct, frozen=True):
    """The parent is lost; the peer joins again."""

    source: str
    parent: str


class ChildLost(msgspec.Struct, frozen=True):
    """A child was silent for too long, and is removed."""

    source: str
    child: str


class GapReported(msgspec.Struct, frozen=True):
    """Documents from ``first`` to ``last`` could not be replayed by anybody. Those among them that
    match are not delivered."""

    source: str
    epoch: int
    first: int
    last: int


class EpochChanged(msgspec.Struct, frozen=True):
    """The source restarted, or took a larger epoch. What it published last before may not have been
    delivered."""

    source: str
    epoch: int
    last_epoch: int
    last_sequence: int
    """The last document of the former epoch that the peer has processed."""


class Left(msgspec.Struct, frozen=True):
    """The peer has left the tree."""

    source: str


PeerOutput: TypeAlias = (
    Send | Deliver | Connected | Disconnected | ChildLost | GapReported | EpochChanged | Left
)
"""All outputs."""
