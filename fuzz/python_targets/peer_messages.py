"""Messages of peers: hostile bytes are refused with a code, and a peer survives what it decodes.

The first byte selects sender, receiver and model, the second the size of the header.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Final

from penstock.documents import Document, Header
from penstock.errors import PenstockError
from penstock.links import Message
from penstock.overlay import (
    BucketDocument,
    BucketInterest,
    BucketModel,
    MessageCodec,
    PatternModel,
    Peer,
    WindowBitmap,
)
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AddResult,
    AnyPeerMessage,
    AttachConfirmation,
    AttachRefusal,
    AttachRequest,
    Attempt,
    ChildCost,
    ChildHeartbeat,
    Detach,
    Edge,
    EligibilityAnswer,
    EligibilityPending,
    FilterRequest,
    FilterStatement,
    Forward,
    Leaving,
    Lost,
    MoveRequest,
    NewParent,
    NotChild,
    OverheadAnswer,
    OverheadRequest,
    ParentHeartbeat,
    RefusalReason,
    Replay,
    Replayed,
    ReplayRequest,
    Seeds,
)
from penstock.overlay.peer_outputs import PeerOutput, Send

DICTIONARY = "queries.dict"

_SOURCE: Final = "s"
_ATTEMPT: Final = Attempt("p", 0, 1)
_CHILD: Final = Attempt("c", 0, 1)
_EDGE: Final = Edge(0, 1)
_BITMAP: Final = WindowBitmap(1, 1, 40, 0b1011)
_BUCKETS: Final = MessageCodec(BucketModel())
_PATTERNS: Final = MessageCodec(PatternModel())
_SENDERS: Final = ("s", "c", "x")
_INTEREST: Final = BucketInterest(0b101)


def _peers() -> dict[str, Peer]:
    """A source, its child ``p``, and the child ``c`` of that one; documents have passed."""
    model = BucketModel()
    peers = {name: Peer(name, model=model, random=random.Random(1)) for name in ("s", "p", "c")}
    waiting: list[tuple[str, PeerOutput]] = [
        (_SOURCE, each) for each in peers[_SOURCE].serve(epoch=1, now=0.0)
    ]
    for number, (name, seed) in enumerate((("p", "s"), ("c", "p"))):
        asked = peers[name].join(_SOURCE, BucketInterest.of(number), 0.0, seeds=[seed])
        waiting += [(name, each) for each in asked if isinstance(each, Send) and each.peer == seed]
        _deliver(peers, waiting)
        peers[name].memberships[_SOURCE].time_out(0.0)
        waiting += [(name, each) for each in peers[name].tick(0.0)]
        _deliver(peers, waiting)
    for number in range(1, 31):
        outputs = peers[_SOURCE].publish(BucketDocument(number, 0b11), 0.0)
        waiting += [(_SOURCE, each) for each in outputs]
        _deliver(peers, waiting)
    return peers


def _deliver(peers: dict[str, Peer], waiting: list[tuple[str, PeerOutput]]) -> None:
    for _ in range(1_000):
        if not waiting:
            return
        sender, output = waiting.pop(0)
        if isinstance(output, Send) and output.peer in peers:
            received = peers[output.peer].receive(sender, output.message, 0.0)
            waiting += [(output.peer, each) for each in received]
    raise AssertionError("peers send to each other without end")


def seeds() -> list[bytes]:
    """One input for each message."""
    path = ("c", "p")
    messages: list[AnyPeerMessage] = [
        Seeds(_SOURCE, ("s", "x")),
        Add(_SOURCE, "x", 1, "p", _INTEREST, _BITMAP, False, (), (0.5,), ("y",), 1),
        Add(_SOURCE, "x", 1, "p", _INTEREST, None, True, ("c", "x"), (), (), 0),
        AddResult(_SOURCE, 1, "s", 0.5, 1, _BITMAP),
        AddRefused(_SOURCE, 1, "s"),
        AttachRequest(_SOURCE, _CHILD, _EDGE, _INTEREST, 1, _BITMAP, ("c",)),
        AttachRequest(_SOURCE, _CHILD, None, _INTEREST, 1, None, ()),
        AttachConfirmation(_SOURCE, _CHILD, _EDGE, 1, 1, 30, path, ("s",)),
        AttachRefusal(_SOURCE, _CHILD, RefusalReason.BUSY, path),
        Detach(_SOURCE, _CHILD),
        NotChild(_SOURCE, _EDGE),
        ChildHeartbeat(_SOURCE, _EDGE, 2, "ff"),
        ParentHeartbeat(_SOURCE, _ATTEMPT, _EDGE, 1, 40, 35, ("s",)),
        FilterRequest(_SOURCE),
        FilterStatement(_SOURCE, _EDGE, 3, _INTEREST),
        Leaving(_SOURCE, _EDGE, "x"),
        NewParent(_SOURCE, "x", is_replacement=True),
        MoveRequest(_SOURCE, 2.0),
        EligibilityAnswer(_SOURCE, 1, is_granted=True),
        EligibilityPending(_SOURCE, 1, 2.5),
        OverheadRequest(_SOURCE, 1, _BITMAP, ("s", "p")),
        OverheadAnswer(_SOURCE, 1, True, 1.0, 2.0, _BITMAP, (ChildCost("x", 0.0, 1.0),)),
        Forward(_SOURCE, _EDGE, 1, 31, 30, BucketDocument(31, 0b11)),
        Lost(_SOURCE, _EDGE, 1, 31, 33, 30),
        ReplayRequest(_SOURCE, "x", 1, 1, 30, _INTEREST),
        Replay(_SOURCE, 1, 31, 35, 32, (Replayed(34, BucketDocument(34, 1)),)),
    ]
    linked = [_BUCKETS.encode(each) for each in messages]
    document = Document(b"<a/>", Header(publisher="wire"))
    xpath = PatternModel().interest(xpath=["//a[b = 'x']"], keywords=["storm"])
    linked_patterns = [
        _PATTERNS.encode(FilterStatement(_SOURCE, _EDGE, 1, xpath)),
        _PATTERNS.encode(Forward(_SOURCE, _EDGE, 1, 2, 1, document)),
    ]
    return [
        *(_input(number % 3, each) for number, each in enumerate(linked)),
        *(_input(128, each) for each in linked_patterns),
    ]


def _input(selector: int, message: Message) -> bytes:
    assert len(message.header) < 256
    return bytes((selector, len(message.header))) + message.header + message.body


def run_input(data: bytes) -> None:
    """Decode a message, and let a connected peer receive it from one of its neighbours."""
    if len(data) < 2:
        return
    message = Message(header=data[2 : 2 + data[1]], body=data[2 + data[1] :])
    with suppress(PenstockError):
        if data[0] >= 128:
            _PATTERNS.decode(message)
            return
        decoded = _BUCKETS.decode(message)
        peers = _peers()
        sender = _SENDERS[data[0] % len(_SENDERS)]
        outputs = peers["p"].receive(sender, decoded, 0.0)
        _deliver(peers, [("p", each) for each in outputs])
        for now in (3.0, 30.0, 60.0):
            for name, peer in peers.items():
                _deliver(peers, [(name, each) for each in peer.tick(now)])
