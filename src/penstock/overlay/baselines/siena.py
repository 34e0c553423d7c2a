"""A Siena-like network of brokers, as the paper emulates it.

A fraction of the nodes, chosen at random, are brokers; they form a balanced tree whatever they
subscribe to. Every other node is a client of a random broker, ``fan_out`` clients a broker on
average. Overhead is counted at brokers only. As for peers, a document that a broker receives is
extraneous if it does not match the broker's own subscription, though it may be for a client.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from penstock.errors import error
from penstock.overlay.interest import Interest, InterestModel, OverlayDocument


@dataclass(slots=True)
class Broker:
    """A broker: what it wants itself, what its clients want, and everybody below it."""

    node: int
    own: Interest
    clients: list[int] = field(default_factory=list)
    children: list[Broker] = field(default_factory=list, repr=False)
    local: Interest | None = None
    subtree: Interest | None = None
    received: int = 0
    extraneous: int = 0
    """Documents that the broker itself did not subscribe to."""

    passed_on: int = 0
    """Documents that neither the broker nor one of its clients subscribed to."""

    @property
    def overhead(self) -> float:
        """The share of extraneous documents among those that the broker received."""
        return self.extraneous / self.received if self.received else 0.0

    @property
    def passed_on_share(self) -> float:
        """The same for documents that none of its clients subscribed to either."""
        return self.passed_on / self.received if self.received else 0.0


class SienaNetwork:
    """Brokers in a balanced tree; the source is attached to its root.

    Parameters
    ----------
    model
        The language of interests.
    interests
        The subscription of each node.
    fan_out
        Clients of a broker, on average.
    random
        Chooses brokers, and the broker of each client.
    tree_fan_out
        Children of a broker in the tree. The paper's figure of 400 nodes shows 28 interior brokers
        at a fan-out of 6, which is a binary tree.

    Examples
    --------
    >>> from penstock.overlay import BucketDocument, BucketInterest, BucketModel
    >>> interests = [BucketInterest.of(number) for number in range(400)]
    >>> network = SienaNetwork(BucketModel(), interests, fan_out=6, random=random.Random(1))
    >>> len(network.brokers), sum(1 for broker in network.brokers if broker.children)
    (57, 28)
    >>> network.publish(BucketDocument(1, (1 << 400) - 1))
    >>> network.overhead(), network.passed_on_overhead()
    (0.0, 0.0)

    Notes
    -----
    The paper says that leaves of the broker tree have no overhead, which holds for ``passed_on``
    only; that overhead rises with the number of clients holds for ``extraneous`` only.
    """

    def __init__(
        self,
        model: InterestModel,
        interests: Sequence[Interest],
        *,
        fan_out: int,
        random: random.Random,
        tree_fan_out: int = 2,
    ) -> None:
        if not interests or fan_out < 1 or tree_fan_out < 1:
            raise error("overlay.option", "a network has nodes, and brokers have clients")
        self._model = model
        nodes = list(range(len(interests)))
        random.shuffle(nodes)
        count = max(1, round(len(nodes) / (fan_out + 1)))
        self.brokers = [Broker(node, interests[node]) for node in nodes[:count]]
        for number, broker in enumerate(self.brokers[1:], 1):
            self.brokers[(number - 1) // tree_fan_out].children.append(broker)
        for node in nodes[count:]:
            random.choice(self.brokers).clients.append(node)
        for broker in reversed(self.brokers):
            local = [interests[node] for node in (broker.node, *broker.clients)]
            broker.local = model.union(local)
            broker.subtree = model.union(
                [broker.local, *(child.subtree for child in broker.children)]
            )

    def publish(self, document: OverlayDocument) -> None:
        """Route a document down the tree."""
        waiting = [self.brokers[0]]
        while waiting:
            broker = waiting.pop()
            if not self._model.matches(broker.subtree, document):
                continue
            broker.received += 1
            broker.extraneous += not self._model.matches(broker.own, document)
            broker.passed_on += not self._model.matches(broker.local, document)
            waiting.extend(broker.children)

    def overhead(self) -> float:
        """The share of extraneous documents among all that brokers received."""
        received = sum(broker.received for broker in self.brokers)
        return sum(broker.extraneous for broker in self.brokers) / received if received else 0.0

    def passed_on_overhead(self) -> float:
        """The same, where a document for one of its clients is not extraneous for a broker."""
        received = sum(broker.received for broker in self.brokers)
        return sum(broker.passed_on for broker in self.brokers) / received if received else 0.0
