"""Joining again: after leaving, and without a parent."""

from __future__ import annotations

from penstock.overlay import BucketInterest, MembershipState, Peer
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AnyPeerMessage,
    NotChild,
    ParentHeartbeat,
)
from penstock.overlay.peer_outputs import PeerOutput, Send
from support.overlay import SOURCE, World


def asked(outputs: list[PeerOutput]) -> list[str]:
    return [each.peer for each in outputs if isinstance(each, Send)]


def test_a_peer_that_joins_again_asks_the_seeds_and_the_agent_that_are_given() -> None:
    peer = World("p").peers["p"]
    wanted = BucketInterest.of(0)
    assert asked(peer.join(SOURCE, wanted, 0.0, seeds=("old",))) == ["old", SOURCE]
    peer.leave(SOURCE, 0.0)
    assert asked(peer.join(SOURCE, wanted, 1.0, seeds=("new",))) == ["new", SOURCE]
    peer.leave(SOURCE, 1.0)
    assert asked(peer.join(SOURCE, wanted, 2.0, agent="agent")) == ["agent"]
    peer.leave(SOURCE, 2.0)
    assert asked(peer.join(SOURCE, wanted, 3.0)) == [SOURCE]


class Orphan:
    """A peer that has lost its parent ``p``, whose ancestors are ``g`` and ``h``; the test plays
    them and the source."""

    def __init__(self) -> None:
        world = World("c")
        world.join("c", BucketInterest.of(0), SOURCE)
        world.settle()
        self.peer: Peer = world.peers["c"]
        parent = world.member("c").position.parent
        assert parent is not None
        path = (SOURCE, "h", "g", SOURCE)
        message = ParentHeartbeat(SOURCE, parent.attempt, parent.edge, 1, 0, 0, path)
        self.peer.receive(SOURCE, message, 0.0)
        self.now = 0.0
        self.peer.receive(SOURCE, NotChild(SOURCE, parent.edge), 0.0)

    def round(self) -> set[str]:
        """Whom the peer asks in its next round."""
        while True:
            due = self.peer.next_timer
            assert due is not None
            self.now = max(self.now, due)
            outputs = self.peer.tick(self.now)
            asked = {
                each.peer: each.message
                for each in outputs
                if isinstance(each, Send) and isinstance(each.message, Add)
            }
            if asked:
                self._join = next(iter(asked.values())).join
                return set(asked)

    def answer(self, peer: str, message: AnyPeerMessage | None = None) -> None:
        refused = AddRefused(SOURCE, self._join, peer)
        self.peer.receive(peer, message or refused, self.now)

    @property
    def state(self) -> MembershipState:
        return self.peer.membership(SOURCE).state


def test_former_ancestors_are_asked_again_as_long_as_they_answer() -> None:
    orphan = Orphan()
    assert orphan.round() == {"g", "h", SOURCE}
    for peer in ("g", "h", SOURCE):
        orphan.answer(peer)
    assert orphan.state is MembershipState.WAITING
    assert orphan.round() == {"g", "h", SOURCE}
    # One of them is silent, and nobody waits for it any more.
    orphan.answer("g")
    orphan.answer(SOURCE)
    assert orphan.round() == {"g", SOURCE}
    orphan.answer(SOURCE)
    orphan.peer.unreachable("g", orphan.now)
    assert orphan.state is MembershipState.WAITING
    assert orphan.round() == {SOURCE}


def test_former_ancestors_are_forgotten_when_there_is_a_parent() -> None:
    world = World("c")
    world.join("c", BucketInterest.of(0), SOURCE)
    world.settle()
    parent = world.member("c").position.parent
    assert parent is not None
    world.take("c", world.peers["c"].receive(SOURCE, NotChild(SOURCE, parent.edge), world.now))
    world.member("c").join_search.rejoin_seeds = ("g", "h")
    world.rest(20.0)
    assert world.member("c").parent == SOURCE
    assert world.member("c").join_search.rejoin_seeds == ()
