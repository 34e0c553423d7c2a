"""Simulates the dissemination of a document through a network of routers.

Routers store and forward: each receives a complete document, matches it, and sends it on. All links
have the same bandwidth, no other traffic and no latency; the paper gives no latency either.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import mean

LINEAR_ROUTERS = 4
"""Routers of the linear topology, as many as in the paper's real network."""

TREE_LEVELS = 4
"""Levels of the binary tree, which has 15 routers."""


@dataclass(frozen=True, slots=True)
class Topology:
    """Routers by number; the publisher is attached to router 0."""

    name: str
    parents: tuple[int | None, ...]
    """The router that sends to each router; ``None`` is the publisher."""
    with_subscribers: tuple[int, ...]


def linear(*, leaves_only: bool = False) -> Topology:
    """A chain of routers; either all or only the last have subscribers."""
    parents = (None, *range(LINEAR_ROUTERS - 1))
    if leaves_only:
        return Topology("linear, leaf only", parents, (LINEAR_ROUTERS - 1,))
    return Topology("linear", parents, tuple(range(LINEAR_ROUTERS)))


def tree() -> Topology:
    """A complete binary tree, with subscribers at every router."""
    count = 2**TREE_LEVELS - 1
    parents = (None, *((number - 1) // 2 for number in range(1, count)))
    return Topology("tree", parents, tuple(range(count)))


@dataclass(frozen=True, slots=True)
class Response:
    """Mean time from the publisher to the subscribers, in seconds."""

    querying: float
    transmission: float

    @property
    def total(self) -> float:
        """Querying plus transmission."""
        return self.querying + self.transmission


def respond(
    topology: Topology,
    *,
    size_bytes: float,
    bandwidth: float,
    querying: float,
    beforehand: float = 0.0,
) -> Response:
    """Simulate sending one document through the network.

    Parameters
    ----------
    size_bytes
        Bytes transmitted on each link.
    bandwidth
        Bits per second.
    querying
        Seconds spent at each router.
    beforehand
        Seconds spent before sending; they count as querying.
    """
    hop = size_bytes * 8 / bandwidth
    reached: list[Response] = []
    for parent in topology.parents:
        before = Response(beforehand, 0.0) if parent is None else reached[parent]
        reached.append(Response(before.querying + querying, before.transmission + hop))
    there = [reached[number] for number in topology.with_subscribers]
    return Response(
        mean(each.querying for each in there), mean(each.transmission for each in there)
    )
