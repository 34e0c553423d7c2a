"""Whatever other peers send, a peer goes on: no message raises an error or costs much memory."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.documents import Document, Header
from penstock.overlay import (
    Connected,
    Deliver,
    GapReported,
    MembershipState,
    MessageCodec,
    PatternInterest,
    PatternModel,
    Peer,
    PeerLimits,
    PeerOptions,
    Send,
    WindowBitmap,
)
from penstock.overlay import peer_messages as messages
from penstock.overlay.peer_messages import Attempt, ChildCost, Edge, RefusalReason, Replayed

NAMES = ("source", "victim", "parent", "child", "eve")
HUGE = 2**63

names = st.sampled_from(NAMES)
paths = st.lists(names, max_size=4).map(tuple)
numbers = st.one_of(st.integers(0, 5), st.sampled_from([399, 1_000, 2**40, HUGE]))
# The codec refuses what is not a number.
amounts = st.sampled_from([0.0, 1.0, 1e300, float("inf")])
attempts = st.builds(Attempt, peer=names, incarnation=st.just(0), number=st.integers(0, 6))
edges = st.builds(Edge, incarnation=st.just(0), number=st.integers(0, 3))
interests = st.sampled_from([["/a"], ["//b"], [], ["/a[b]", "/c"]]).map(
    lambda queries: PatternModel().interest(xpath=queries)
)
documents = st.sampled_from([b"<a><b/></a>", b"<a", b"<c/>"]).map(
    lambda content: Document(content, Header(publisher="eve"))
)


@st.composite
def bitmaps(draw: st.DrawFn) -> WindowBitmap | None:
    """A bitmap of any range, or none."""
    if draw(st.booleans()):
        return None
    first = draw(st.sampled_from([0, 1, 2, 2**40, HUGE]))
    length = draw(st.sampled_from([0, 1, 30, 400]))
    bits = draw(st.integers(0, (1 << length) - 1))
    return WindowBitmap(draw(st.sampled_from([0, 1, 2])), first, first + length - 1, bits)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "source": st.just("source"),
    "joiner": names,
    "seed": names,
    "peer": names,
    "replacement": names,
    "displaced": st.one_of(st.none(), names),
    "requester": names,
    "peers": paths,
    "path": paths,
    "ancestors": paths,
    "excluded": paths,
    "attempt": attempts,
    "edge": edges,
    "interest": interests,
    "bitmap": bitmaps(),
    "exclusive": bitmaps(),
    "reason": st.sampled_from(RefusalReason),
    "digest": st.sampled_from(["", "x"]),
    "document": documents,
    "documents": st.lists(
        st.builds(Replayed, sequence=numbers, document=documents), max_size=3
    ).map(tuple),
    "children": st.lists(
        st.builds(ChildCost, peer=names, missing=amounts, added=amounts), max_size=3
    ).map(tuple),
    "route": paths,
    "costs": st.lists(amounts, max_size=3).map(tuple),
    "is_compared": st.booleans(),
    "cost": amounts,
    "overhead": amounts,
    "missing": amounts,
    "accepts": st.booleans(),
    "is_granted": st.booleans(),
    "is_replacement": st.booleans(),
    "hops": st.integers(0, 2),
}
"""Values of the fields of messages; all others are numbers."""

KINDS = [
    getattr(messages, name)
    for name in dir(messages)
    if isinstance(getattr(messages, name), type)
    and issubclass(getattr(messages, name), messages.PeerMessage)
    and name != "PeerMessage"
]


@st.composite
def any_message(draw: st.DrawFn) -> messages.AnyPeerMessage:
    """A message that could arrive from a network."""
    kind = draw(st.sampled_from(KINDS))
    values = {name: draw(FIELDS.get(name, numbers)) for name in kind.__struct_fields__}
    if "bitmap" in values and kind is messages.OverheadRequest and values["bitmap"] is None:
        values["bitmap"] = WindowBitmap(1, 1, 0, 0)
    if kind is messages.AttachRequest and draw(st.booleans()):
        values["edge"] = None
    return kind(**values)  # type: ignore[no-any-return]


def victim() -> Peer:
    """A peer with a parent, a child and documents."""
    model = PatternModel()
    options = PeerOptions(limits=PeerLimits(window_documents=40), reorganise_seconds=10.0)
    peers = {
        name: Peer(name, model=model, random=random.Random(name), options=options)
        for name in ("source", "victim", "child")
    }
    waiting = [("source", each) for each in peers["source"].serve(epoch=1, now=0.0)]

    def settle() -> None:
        while waiting:
            sender, output = waiting.pop(0)
            if isinstance(output, Send) and output.peer in peers:
                to = peers[output.peer]
                waiting.extend((to.name, each) for each in to.receive(sender, output.message, 0.0))

    settle()
    for name, seed in (("victim", "source"), ("child", "victim")):
        interest = model.interest(xpath=["/a"])
        started = peers[name].join("source", interest, 0.0, seeds=[seed])
        waiting.extend((name, each) for each in started)
        settle()
    for _ in range(30):
        document = Document(b"<a/>", Header(publisher="source"))
        waiting.extend(("source", each) for each in peers["source"].publish(document, 0.0))
        settle()
    assert peers["victim"].membership("source").state is MembershipState.CONNECTED
    return peers["victim"]


@settings(deadline=None)
@given(
    st.lists(st.tuples(names, any_message(), st.sampled_from([0.0, 0.5, 3.0, 20.0])), max_size=12)
)
def test_a_peer_survives_any_messages(
    received: list[tuple[str, messages.AnyPeerMessage, float]],
) -> None:
    peer, codec, now = victim(), MessageCodec(PatternModel()), 0.0
    for sender, message, seconds in received:
        now += seconds
        outputs = peer.tick(now) + peer.receive(sender, message, now)
        outputs += peer.unreachable(sender, now) if seconds == 3.0 else []
        for output in outputs:
            if isinstance(output, Send):
                # What it sends is well-formed, too.
                codec.decode(codec.encode(output.message))
            assert not isinstance(output, Connected) or output.parent != "victim"
    membership = peer.membership("source")
    assert len(membership.children) <= peer.options.fan_out
    assert membership.overlap.statistics.own.bit_length() <= 100
    assert isinstance(membership.filter.interest, PatternInterest)
    peer.change_interest("source", PatternModel().interest(xpath=["/b"]), now)
    peer.leave("source", now)


def test_a_replay_that_claims_losses_from_zero_on() -> None:
    peer = victim()
    replay = messages.Replay("source", epoch=1, first=0, last=399, lost_through=2**40, documents=())
    [gap] = [each for each in peer.receive("source", replay, 0.0) if isinstance(each, GapReported)]
    assert (gap.first, gap.last) == (31, 399)


def test_documents_of_a_replay_beyond_its_range_are_ignored() -> None:
    peer = victim()
    document = Document(b"<a/>", Header(publisher="eve"))
    replay = messages.Replay(
        "source",
        epoch=1,
        first=1,
        last=31,
        lost_through=0,
        documents=(Replayed(31, document), Replayed(HUGE, document)),
    )
    delivered = [each for each in peer.receive("source", replay, 0.0) if isinstance(each, Deliver)]
    assert [each.sequence for each in delivered] == [31]
    assert peer.membership("source").stream.cursor == 31
