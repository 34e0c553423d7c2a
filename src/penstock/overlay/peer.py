"""A peer of the overlay: memberships in trees, which share its fan-out. It has no I/O."""

from __future__ import annotations

import random
from collections.abc import Iterable

from penstock.errors import error
from penstock.overlay.interest import Interest, InterestModel, OverlayDocument
from penstock.overlay.limits import NAME_BYTES_MAX
from penstock.overlay.membership import Membership
from penstock.overlay.membership.transitions import MembershipState
from penstock.overlay.options import PeerOptions
from penstock.overlay.peer_messages import (
    Add,
    AddRefused,
    AnyPeerMessage,
    AttachRefusal,
    AttachRequest,
    ChildHeartbeat,
    NotChild,
    RefusalReason,
)
from penstock.overlay.peer_outputs import PeerOutput, Send


class Peer:
    """The protocol core of a peer.

    A driver passes messages and time in, and carries out the outputs: the simulator and the network
    driver run the same core. Messages may be lost, delayed, duplicated and reordered. A tree is
    named by the peer that is its source.

    Parameters
    ----------
    name
        Unique; other peers send to it.
    model
        The language of interests.
    options
        Settings.
    random
        Decides ties and delays.
    incarnation
        Must be larger after every restart.

    Examples
    --------
    >>> from penstock.overlay import BucketDocument, BucketInterest, BucketModel
    >>> source = Peer("source", model=BucketModel(), random=random.Random(1))
    >>> reader = Peer("reader", model=BucketModel(), random=random.Random(2))
    >>> _ = source.serve(epoch=1, now=0.0)
    >>> _ = source.publish(BucketDocument(1, 0b1), now=0.0)
    >>> asked = reader.join("source", BucketInterest.of(0), now=0.0)
    >>> waiting = [("reader", each) for each in asked]
    >>> while waiting:
    ...     sender, output = waiting.pop(0)
    ...     if isinstance(output, Send):
    ...         to = {"source": source, "reader": reader}[output.peer]
    ...         waiting += [(to.name, each) for each in to.receive(sender, output.message, 0.0)]
    >>> reader.membership("source").state
    <MembershipState.CONNECTED: 'connected'>
    >>> [type(each).__name__ for each in source.publish(BucketDocument(2, 0b1), now=1.0)]
    ['Send']
    """

    def __init__(
        self,
        name: str,
        *,
        model: InterestModel,
        random: random.Random,
        options: PeerOptions | None = None,
        incarnation: int = 0,
    ) -> None:
        if not 1 <= len(name.encode()) <= NAME_BYTES_MAX:
            raise error("overlay.option", f"a peer is named by 1 to {NAME_BYTES_MAX} bytes")
        self.name = name
        self.model = model
        self.random = random
        self.options = options or PeerOptions()
        self.incarnation = incarnation
        self.outputs: list[PeerOutput] = []
        self.memberships: dict[str, Membership] = {}
        """By source."""

    @property
    def next_timer(self) -> float | None:
        """When :meth:`tick` is due; changes with every call."""
        timers = [
            at
            for membership in self.memberships.values()
            if (at := membership.next_timer) is not None
        ]
        return min(timers) if timers else None

    def membership(self, source: str) -> Membership:
        """The membership in a tree.

        Raises
        ------
        OverlayError
            ``overlay.source``: the peer is not in that tree.
        """
        if source not in self.memberships:
            raise error("overlay.source", f"the peer {self.name} has not joined {source}")
        return self.memberships[source]

    def spare_capacity(self) -> int:
        """Children that the peer can still take, over all trees."""
        children = sum(len(each.children) for each in self.memberships.values())
        return self.options.fan_out - children

    def serve(self, *, epoch: int, now: float, agent: str | None = None) -> list[PeerOutput]:
        """Become a source, and announce it to the agent if there is one.

        The epoch should be larger after every restart. If it is not, because a clock went back, the
        source takes a larger one as soon as a peer attaches that knows the former; sequence numbers
        start anew then, which ``EpochChanged`` tells.
        """
        if self.name in self.memberships:
            raise error("overlay.source", f"{self.name} is a source already")
        if epoch < 1:
            raise error("overlay.option", "epochs are counted from 1")
        membership = Membership(self, self.name, self.model.nothing, agent=agent)
        self.memberships[self.name] = membership
        membership.serve(epoch, now)
        return self._taken()

    def publish(self, document: OverlayDocument, now: float) -> list[PeerOutput]:
        """Publish a document, as source."""
        membership = self.membership(self.name)
        membership.publish(document)
        return self._taken()

    def join(
        self,
        source: str,
        interest: Interest,
        now: float,
        *,
        seeds: Iterable[str] = (),
        agent: str | None = None,
    ) -> list[PeerOutput]:
        """Join a tree with a subscription; again after leaving it, the stream is resumed.

        Seeds and agent are those of this call, without seeds the source.
        """
        if source == self.name:
            raise error("overlay.source", "a source does not join its own tree")
        membership = self.memberships.get(source)
        if membership is None:
            membership = Membership(self, source, interest, seeds=seeds, agent=agent)
            self.memberships[source] = membership
        elif membership.state is not MembershipState.OUTSIDE:
            raise error("overlay.source", f"the peer {self.name} has joined {source} already")
        else:
            membership.change_interest(interest, now)
            membership.begin_at(seeds, agent)
        membership.join(now)
        return self._taken()

    def change_interest(self, source: str, interest: Interest, now: float) -> list[PeerOutput]:
        """Change the subscription in a tree: a narrower one is in force at once, another with the
        next ``Connected`` that ``is_current``. There is one after every change: at once, if the
        ancestors forward what is wanted already."""
        self.membership(source).change_interest(interest, now)
        return self._taken()

    def leave(self, source: str, now: float) -> list[PeerOutput]:
        """Leave a tree; ``Left`` says when it is done."""
        self.membership(source).leave(now)
        return self._taken()

    def receive(self, sender: str, message: AnyPeerMessage, now: float) -> list[PeerOutput]:
        """Process a message."""
        membership = self.memberships.get(message.source)
        if membership is None:
            self._refuse(sender, message)
        else:
            membership.receive(sender, message, now)
        return self._taken()

    def unreachable(self, peer: str, now: float) -> list[PeerOutput]:
        """A driver cannot connect to a peer; heartbeats would say so later."""
        for membership in list(self.memberships.values()):
            membership.unreachable(peer, now)
        return self._taken()

    def tick(self, now: float) -> list[PeerOutput]:
        """Process the timers that are due."""
        for membership in list(self.memberships.values()):
            membership.tick(now)
        return self._taken()

    def _refuse(self, sender: str, message: AnyPeerMessage) -> None:
        """Answers to a peer that takes this one for a member of a tree: it may have restarted."""
        match message:
            case Add():
                refused = AddRefused(message.source, message.join, message.seed)
                self.outputs.append(Send(message.joiner, refused))
            case AttachRequest():
                refusal = AttachRefusal(
                    message.source,
                    message.attempt,
                    RefusalReason.BUSY,
                    message.path,
                )
                self.outputs.append(Send(sender, refusal))
            case ChildHeartbeat():
                self.outputs.append(Send(sender, NotChild(message.source, message.edge)))
            case _:
                pass

    def _taken(self) -> list[PeerOutput]:
        outputs, self.outputs = self.outputs, []
        return outputs
