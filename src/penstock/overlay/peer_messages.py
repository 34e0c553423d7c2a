"""Messages between peers, and between a peer and the system agent.

They are immutable. What arrives from a network is validated when it is decoded, see
:mod:`penstock.overlay.message_codec`. ``source`` names the tree: it is the name of the peer at its
root. Messages may be lost, delayed, duplicated and reordered.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import msgspec
from msgspec import Meta

from penstock.overlay.interest import Interest, OverlayDocument
from penstock.overlay.limits import (
    ADD_HOPS_MAX,
    AGENT_ROUND_SECONDS_MAX,
    DEPTH_MAX,
    EPOCH_MAX,
    EXCLUDED_PEERS_MAX,
    FAN_OUT_MAX,
    NAME_BYTES_MAX,
    REPLAY_DOCUMENTS_MAX,
    SEEDS_MAX,
)
from penstock.overlay.window_bitmap import WindowBitmap

Name: TypeAlias = Annotated[str, Meta(min_length=1, max_length=NAME_BYTES_MAX)]
Number: TypeAlias = Annotated[int, Meta(ge=0)]
Amount: TypeAlias = Annotated[float, Meta(ge=0)]
PeerPath: TypeAlias = Annotated[tuple[Name, ...], Meta(max_length=DEPTH_MAX + 1)]


class Attempt(msgspec.Struct, frozen=True, array_like=True, order=True):
    """Identifies an attach attempt. Attempts of one peer are ordered by time."""

    peer: Name
    incarnation: Number
    """Grows with every restart of the peer."""

    number: Number


class Edge(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Identifies a child at its parent, as long as it is one.

    The parent gives it: if it has removed a child, a late copy of the child's attach request makes
    another edge, and both sides notice that theirs is another one.
    """

    incarnation: Number
    """Of the parent."""

    number: Number


class RefusalReason(StrEnum):
    """Why an attach attempt was refused."""

    BUSY = "busy"
    """A peer on the path is not connected, is moving, or leaves."""

    CYCLE = "cycle"
    """The moving peer is on the path: it is an ancestor of its new parent."""

    FULL = "full"
    """The new parent has no spare capacity."""

    NOT_CHILD = "not a child"
    """A peer on the path is not a child of the one that it relayed to."""

    TOO_DEEP = "too deep"


class PeerMessage(msgspec.Struct, frozen=True, array_like=True, tag=True, gc=False):
    """A message about one tree."""

    source: Name


# Seeds


class SeedsRequest(PeerMessage, frozen=True):
    """Asks the agent for peers to join at."""


class Seeds(PeerMessage, frozen=True):
    """Answers :class:`SeedsRequest`."""

    peers: Annotated[tuple[Name, ...], Meta(max_length=SEEDS_MAX)]


class SourceAnnouncement(PeerMessage, frozen=True):
    """A source tells the agent that it is there, again with every heartbeat."""


# Join


class Add(PeerMessage, frozen=True):
    """Looks for a place for a joining peer; forwarded to the child of maximal overlap."""

    joiner: Name
    join: Number
    """Number of the joiner's request; the answer repeats it."""

    seed: Name
    """The seed that the joiner asked."""

    interest: Interest
    bitmap: WindowBitmap | None
    """Documents that the joiner matches, if somebody on the way could tell."""

    is_compared: bool
    """Whether other seeds were asked as well, and their answers are compared over whole paths."""

    route: PeerPath
    """Peers between the source and the seed through which the request still comes down, the next
    one first."""

    costs: Annotated[tuple[Amount, ...], Meta(max_length=DEPTH_MAX + 1)]
    """Path costs of the peers from which the request came down, the uppermost first."""

    excluded: Annotated[tuple[Name, ...], Meta(max_length=EXCLUDED_PEERS_MAX)]
    """Peers below which there is no place."""

    hops: Annotated[int, Meta(ge=0, le=ADD_HOPS_MAX)]


class AddResult(PeerMessage, frozen=True):
    """The sender has spare capacity for the joiner."""

    join: Number
    seed: Name
    cost: Amount
    """Path cost of the sender and of its ancestors."""

    depth: Number
    bitmap: WindowBitmap | None
    displaced: Name | None = None
    """A child of the sender that goes below the joiner, which takes its place."""


class AddRefused(PeerMessage, frozen=True):
    """There is no place at or below a seed."""

    join: Number
    seed: Name


# Attach attempts


class AttachRequest(PeerMessage, frozen=True):
    """Travels from the new parent to the source; each peer on the path first widens its filter."""

    attempt: Attempt
    edge: Edge | None
    """By which the sender is a child of the receiver; none if the attempt is to make it one."""

    interest: Interest
    """The sender's whole aggregate filter, which is its own statement."""

    version: Number
    """Version of that filter; older statements are ignored."""

    bitmap: WindowBitmap | None
    """Documents of the moving peer."""

    path: PeerPath
    """Peers that the request passed, the moving one first."""

    displaced: Name | None = None
    """A child of the receiver whose place the moving peer takes. Not relayed."""

    epoch: Annotated[int, Meta(ge=0, le=EPOCH_MAX)] = 0
    """The largest epoch of the source that a peer on the path knows. A source whose epoch is
    smaller, because its clock went back, takes a larger one."""


class AttachConfirmation(PeerMessage, frozen=True):
    """The request reached the source; returns along its path."""

    attempt: Attempt
    edge: Edge
    """By which the receiver is a child of the sender."""

    version: Number
    """Of the filter that is confirmed, as the receiver stated it in its request."""

    epoch: Number
    sequence: Number
    """Documents after it are received."""

    path: PeerPath
    """Peers that the confirmation still passes, its receiver last."""

    ancestors: PeerPath
    """Peers that it passed, the source first."""


class AttachRefusal(PeerMessage, frozen=True):
    """The request was refused; returns along its path."""

    attempt: Attempt
    reason: RefusalReason
    path: PeerPath


class Detach(PeerMessage, frozen=True):
    """The sender is no longer a child of the receiver by this attempt, or abandons it."""

    attempt: Attempt


class NotChild(PeerMessage, frozen=True):
    """The receiver is not a child of the sender by this edge."""

    edge: Edge


# Heartbeats and filters


class ChildHeartbeat(PeerMessage, frozen=True):
    """The sender is a child of the receiver; states its filter by digest."""

    edge: Edge
    version: Number
    digest: str


class ParentHeartbeat(PeerMessage, frozen=True):
    """The sender is the parent of the receiver; states what it has sent."""

    attempt: Attempt
    """The receiver's, which made the edge."""

    edge: Edge
    epoch: Number
    position: Number
    """All documents up to this sequence number have been sent, if they match the filter."""

    last_sent: Number
    path: PeerPath
    """Ancestors of the receiver, the source first, the sender last."""


class FilterRequest(PeerMessage, frozen=True):
    """The sender's filter for the receiver has another digest than the receiver stated."""


class FilterStatement(PeerMessage, frozen=True):
    """The sender's aggregate filter. The only way to narrow a filter."""

    edge: Edge
    version: Number
    interest: Interest


# Leaving and reorganisation


class Leaving(PeerMessage, frozen=True):
    """The sender leaves, and a child of it takes its place below the receiver."""

    edge: Edge
    replacement: Name


class NewParent(PeerMessage, frozen=True):
    """The receiver is asked to re-insert itself."""

    peer: Name
    """Where to join, or the parent to attach to."""

    is_replacement: bool
    """Whether the receiver replaces the sender, and attaches to ``peer`` itself."""


class MoveRequest(PeerMessage, frozen=True):
    """The sender has too much overhead, and asks a child to find another parent."""

    overhead: Amount
    """Documents of the window that the sender receives for this child only."""


class EligibilityRequest(PeerMessage, frozen=True):
    """Asks the agent whether the sender may move."""

    request: Number
    overhead: Amount
    """Documents of the window that the sender's parent receives for it only."""


class EligibilityAnswer(PeerMessage, frozen=True):
    """Answers :class:`EligibilityRequest`."""

    request: Number
    is_granted: bool


class EligibilityPending(PeerMessage, frozen=True):
    """The agent has :class:`EligibilityRequest`, and answers it when its round ends."""

    request: Number
    seconds: Annotated[float, Meta(ge=0, le=AGENT_ROUND_SECONDS_MAX)]
    """Time until the end of the round."""


class OverheadRequest(PeerMessage, frozen=True):
    """Asks what it would cost the receiver to have the sender as child."""

    search: Number
    bitmap: WindowBitmap
    path: PeerPath
    """Ancestors of the sender."""


class ChildCost(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What a child and a searching peer have not in common, in documents of a window."""

    peer: Name
    missing: Amount
    """Documents of the searching peer that the child does not receive yet."""

    added: Amount
    """Documents of the child that the searching peer does not receive yet."""


class OverheadAnswer(PeerMessage, frozen=True):
    """Answers :class:`OverheadRequest`; amounts are documents of a window."""

    search: Number
    accepts: bool
    """Whether there is spare capacity."""

    overhead: Amount
    """Documents of the searching peer that do not match the sender's own subscription."""

    missing: Amount
    """Documents of the searching peer that the sender does not receive yet."""

    exclusive: WindowBitmap | None
    """If the sender is an ancestor of the searching peer: documents of the searching peer that the
    sender receives for that branch only, over the range of the request's bitmap."""

    children: Annotated[tuple[ChildCost, ...], Meta(max_length=FAN_OUT_MAX)]


# Delivery


class Forward(PeerMessage, frozen=True):
    """A document that matches the receiver's filter."""

    edge: Edge
    epoch: Number
    sequence: Number
    previous: Number
    """The sequence number that was sent before it over this link."""

    document: OverlayDocument


class Lost(PeerMessage, frozen=True):
    """Documents of the sender that nobody could replay."""

    edge: Edge
    epoch: Number
    first: Number
    sequence: Number
    """The last of them."""

    previous: Number


class ReplayRequest(PeerMessage, frozen=True):
    """Asks for the documents of a gap; forwarded upwards to a peer that received all of them."""

    requester: Name
    epoch: Number
    first: Number
    last: Number
    interest: Interest


class Replayed(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A document of a replay."""

    sequence: Number
    document: OverlayDocument


class Replay(PeerMessage, frozen=True):
    """The documents from ``first`` to ``last`` that match the receiver's filter."""

    epoch: Number
    first: Number
    last: Number
    lost_through: Number
    """Documents from ``first`` to this one are lost; 0 if none."""

    documents: Annotated[tuple[Replayed, ...], Meta(max_length=REPLAY_DOCUMENTS_MAX)]


AnyPeerMessage: TypeAlias = (
    SeedsRequest
    | Seeds
    | SourceAnnouncement
    | Add
    | AddResult
    | AddRefused
    | AttachRequest
    | AttachConfirmation
    | AttachRefusal
    | Detach
    | NotChild
    | ChildHeartbeat
    | ParentHeartbeat
    | FilterRequest
    | FilterStatement
    | Leaving
    | NewParent
    | MoveRequest
    | EligibilityRequest
    | EligibilityAnswer
    | EligibilityPending
    | OverheadRequest
    | OverheadAnswer
    | Forward
    | Lost
    | ReplayRequest
    | Replay
)
"""All messages."""
